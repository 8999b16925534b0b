"""Charts: series over time as plain data. html/chart.html writes each as a figure with its table,
and charts.js draws it by uPlot.

May import: ops.shown, pages.amounts, state.answer. Imported by: the other files of pages, and the
views.
"""
