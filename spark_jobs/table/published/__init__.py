"""Published: the table of judged rows, which only the task `publish` moves. It has no row of its
own: it names the files of the pipeline's table.
"""
