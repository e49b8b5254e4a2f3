"""What the protocols of transactions share: accounts, what clients do with them, and the sum that stays.

Each account opens with the same balance, in a transaction 0 that no client asked for. A protocol
names transactions as it likes, by numbers; a cell has the name of the one that left it.
"""

from protosim.api import NodeId, OpId, value

Account = str

ACCOUNTS: tuple[Account, ...] = ("a", "b", "c", "d")
OPENING = 5  # the balance of each account at the beginning
TOTAL = OPENING * len(ACCOUNTS)


@value
class Transaction:
    """Read these accounts, and move `amount` from the first to each of the others; 0 only reads."""

    accounts: tuple[Account, ...]
    amount: int

    def __str__(self) -> str:
        return f"{f'move {self.amount}' if self.amount else 'read'} {' '.join(self.accounts)}"


@value
class Cell:
    """A balance, and which transaction left it."""

    balance: int
    writer: int

    def __str__(self) -> str:
        return f"{self.balance} by {self.writer}"


def home(account: Account, ids: tuple[NodeId, ...]) -> NodeId:
    """Who has the account."""
    return ids[ACCOUNTS.index(account) % len(ids)]


def wrong_sum(op: OpId, result: tuple[Cell, ...] | None) -> str | None:
    """A violation, if a client read all accounts and their sum is not that of the beginning."""
    if result is None or len(result) < len(ACCOUNTS):
        return None
    total = sum(cell.balance for cell in result)
    return None if total == TOTAL else f"{op} read {total} in all accounts together; there are {TOTAL}"


def workload(op: OpId, bits: int) -> Transaction:
    """Mostly transfers between two accounts, some from one to two others, and one in four reads everything."""
    kind, first = bits & 7, bits >> 3 & 3
    second = (first + 1 + (bits >> 5) % 3) % 4
    if kind < 2:
        return Transaction(ACCOUNTS, 0)
    accounts = (ACCOUNTS[first], ACCOUNTS[second])
    if kind == 2:
        third = next(account for account in ACCOUNTS if account not in accounts)
        return Transaction((*accounts, third), 1)
    return Transaction(accounts, 1 + (bits >> 8 & 3))


def parse(op: OpId, words: tuple[str, ...]) -> Transaction:
    """`read a b`, `move 3 a b`."""
    if words[0] == "read":
        return Transaction(words[1:], 0)
    return Transaction(words[2:], int(words[1]))
