"""Settings of the site, for Sphinx. `make site` puts the pages beside this file and calls it."""

import attention_lib

project = "Scaled dot-product attention, one step at a time"
author = "the authors of attention_lib"
copyright = author
release = version = attention_lib.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["node_modules"]
nitpicky = False

# Notebooks: as they are stored, never executed.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "dollarmath", "html_image"]
myst_heading_anchors = 3
myst_heading_slug_func = "site_pages.anchor"  # as JupyterLab makes them, which the links use

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Attention, step by step"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_use_index = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#5a2a82",
        "color-brand-content": "#5a2a82",
        "color-foreground-muted": "#595959",
    },
    "dark_css_variables": {
        "color-brand-primary": "#d3b3f2",
        "color-brand-content": "#d3b3f2",
        "color-brand-visited": "#d3b3f2",
        "color-foreground-muted": "#a6a6a6",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# From this host, not from another.
mathjax_path = "mathjax/tex-svg.js"
nb_ipywidgets_js = {}
