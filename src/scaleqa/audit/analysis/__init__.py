"""Pure: what raters said -> figures with intervals, and the page that shows them."""
