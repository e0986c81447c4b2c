"""One solve, from the choice of a search to checked results.

The order below is the order of reading.

==================  ===================================================================================
`settings`          options as typed values
`solve`             results of tasks, batch by batch: `solve_batch` is the way of an instance
`choose`            device, method, neighbourhood, policy: the search of an instance
`search`            searches: compiled kernels, large steps, torch (`search_torch`)
`plan`              steps, temperatures and chains; instances that share a batch
`batch`             instances that are solved together, and their first solutions
`bounds`, `goals`   bounds in their share of the time; when an answer is good enough
`answers`           exact evaluation, and the result
`late`              answers where there is no time to search, or own functions still compile
`check`             evaluation of solutions from files
==================  ===================================================================================
"""
