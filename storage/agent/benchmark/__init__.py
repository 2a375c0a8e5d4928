"""One run of fio on scratch volumes that the agent makes and removes: what fio is to do, the
scratch volumes, what is recorded beside it, and the results until the panel has them.
"""
