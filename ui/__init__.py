"""The Streamlit side of the visual system: page shell, chart block, badges, source view."""
