"""One solve, in the order in which it happens.

==================  ====================================================================================
`settings`          what the user asks for, as typed values
`choose`            device, neighbourhood, policy: which search runs an instance
`search`            what advances chains of one problem: compiled kernels, large steps, torch
`plan`              steps, temperatures, chains; instances that share a batch
`batch`             one batch: first solutions, bounds, annealing
`bounds`, `goals`   bounds in their share of the time; when an answer is good enough
`answers`           exact evaluation of what was found, and the result
`solve`             the loop over batches
`fallback`          what a user gets while kernels are still compiled for the first time
`check`             solutions from files, by the same evaluation
==================  ====================================================================================
"""
