"""One solve, from the choice of a search to checked results; the order below is the order of reading.

==================  ===================================================================================
`settings`          options as typed values
`solve`             results of tasks, batch by batch
`choose`            device, method, neighbourhood, policy: the search of an instance
`search`            searches: compiled kernels, large steps, torch (`search_torch`)
`plan`              steps, temperatures and chains; instances that share a batch
`batch`             first solutions, bounds (`bounds`) and annealing up to a goal (`goals`)
`answers`           exact evaluation, and the result
`fallback`          time limits and interrupts while kernels compile; `detached` is the process it leaves
`check`             evaluation of solutions from files
==================  ===================================================================================
"""
