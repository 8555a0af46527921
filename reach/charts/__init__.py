"""Plotly figures of the product and their export. No streamlit, no SQL."""
