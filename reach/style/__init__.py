"""How the product looks and writes numbers: tokens, templates, formats, words. No streamlit."""
