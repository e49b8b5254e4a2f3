"""What the kernel refuses a worker: a seccomp filter, from tables of calls.

    program("x86_64")    # the instructions, for prctl(PR_SET_SECCOMP)

Two workers that see the same file can tell each other something without a channel that anybody made for them: one
locks it, the other finds it locked. So what one process can do and another can notice is refused, with EPERM.

The tables name what is refused, not what is needed: that differs by the version of Python, of Go and of the C library,
and where a worker cannot start nobody gets a score. But every call up to Linux 6.12 was looked at, and what is newer is
refused unseen, with ENOSYS, as if the kernel were older; so is the x32 ABI, whose numbers are higher. Calls by
another architecture's ABI are refused as well.

What no filter closes is time: how long something takes tells who else uses a processor, a cache, the memory. And it
does not see paths: where /proc and files' times can be looked at, `stat` tells what others do.

>>> len(program("x86_64")) // 8, program("vax")
(213, b'')
"""

import errno
import struct
from collections.abc import Iterator, Sequence

import attrs

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""By `platform.machine()`: the column of the tables below, and AUDIT_ARCH_..."""

Numbers = tuple[int, int | None]
"""Of one call, by column; None where there is no such call."""

NEWEST = 462  # mseal, of Linux 6.10: the last call that was looked at
CLONE3: Numbers = (435, 435)  # its flags are in memory, where no filter sees them; without it `clone` is called

# fmt: off
REFUSED: dict[str, Numbers] = {
    # A file that both may read: who holds a lock on it, who hears what is done with it.
    "flock": (73, 32), "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "inotify_rm_watch": (255, 28), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    # What the kernel keeps for those who know its number or name: keys, shared memory, semaphores, queues.
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "shmget": (29, 194), "shmat": (30, 196),
    "shmctl": (31, 195), "shmdt": (67, 197), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    # Sockets of any kind; where there is none, no other call on sockets does anything.
    "socket": (41, 198), "socketpair": (53, 199),
    # Other processes: to look into them, and what each may set for itself and others may ask.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "kcmp": (312, 272), "get_robust_list": (274, 100), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "setpgid": (109, 154), "setsid": (112, 157), "getpriority": (140, 141),
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "ioprio_get": (252, 31),
    "futex_waitv": (449, 449), "futex_wake": (454, 454), "futex_wait": (455, 455), "futex_requeue": (456, 456),
    # A file of one's own: Landlock lets its owner change all but its content.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    # What of a file is in memory.
    "mincore": (27, 232), "cachestat": (451, 451), "fadvise64": (221, 223), "readahead": (187, 213),
    "preadv2": (327, 286), "pwritev2": (328, 287),
    # How full the machine is, and what is counted of all processes of a user.
    "sysinfo": (99, 179), "timer_create": (222, 107), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "io_setup": (206, 0), "io_destroy": (207, 1), "io_getevents": (208, 4), "io_submit": (209, 2),
    "io_cancel": (210, 3), "io_pgetevents": (333, 292),
    # The kernel itself.
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "syslog": (103, 116), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "settimeofday": (164, 170), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "iopl": (172, None), "ioperm": (173, None),
    # Namespaces and mounts.
    "setns": (308, 268), "unshare": (272, 97), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "mount_setattr": (442, 442), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_by_handle_at": (304, 265), "statmount": (457, 457), "listmount": (458, 458), "lsm_set_self_attr": (460, 460),
    "sethostname": (170, 161), "setdomainname": (171, 162),
}
# fmt: on


@attrs.frozen
class Rule:
    """A call that is let through if one of its arguments, of which the lower 32 bits count, is as it should be."""

    numbers: Numbers
    argument: int  # from 0
    values: tuple[int, ...] = ()  # those that are let through
    below: int = 0  # or: let through if it is less, without a sign
    has: int = 0  # or: let through with one of these bits
    lacks: int = 0  # or: let through without any of these bits


RULES: dict[str, Rule] = {
    # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC: no locks, leases, notes, owners, hints, sizes of pipes
    "fcntl": Rule((72, 25), 1, (0, 1, 2, 3, 4, 1030)),
    # TCGETS, FIONBIO, FIONCLEX, FIOCLEX
    "ioctl": Rule((16, 29), 1, (0x5401, 0x5421, 0x5450, 0x5451)),
    # FUTEX_PRIVATE_FLAG: a word of a library that both have mapped is a place to meet
    "futex": Rule((202, 98), 1, has=0x80),
    # CLONE_NEW...: no namespaces
    "clone": Rule((56, 220), 0, lacks=0x7E020000),
    # 0: of itself
    "prlimit64": Rule((302, 261), 0, (0,)),
    "sched_getaffinity": Rule((204, 123), 0, (0,)),
    # The clocks of everybody, and of oneself; others are those of other processes
    "clock_gettime": Rule((228, 113), 0, below=12),
    "clock_getres": Rule((229, 114), 0, below=12),
    "clock_nanosleep": Rule((230, 115), 0, below=12),
    # Signals that do not queue up: those that do are counted of all processes of a user
    "kill": Rule((62, 129), 1, below=32),
    "tkill": Rule((200, 130), 1, below=32),
    "tgkill": Rule((234, 131), 2, below=32),
}

# Of the classic BPF: struct sock_filter {code, jump if true, jump if false, constant}; a jump skips so many.
Instruction = tuple[int, int, int, int]
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # in struct seccomp_data; arguments have 8 bytes, the lower ones first
ALLOW: Instruction = (RETURN, 0, 0, 0x7FFF0000)
FORBID: Instruction = (RETURN, 0, 0, 0x00050000 | errno.EPERM)
UNKNOWN: Instruction = (RETURN, 0, 0, 0x00050000 | errno.ENOSYS)


def program(machine: str) -> bytes:
    """The filter for this machine; empty where there is none."""
    if machine not in MACHINES:
        return b""
    column, architecture = MACHINES[machine]
    instructions = [*_instructions(column, architecture)]
    return b"".join([struct.pack("=HBBI", *each) for each in instructions])


def _instructions(column: int, architecture: int) -> Iterator[Instruction]:
    yield from [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), FORBID]
    yield from [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, NEWEST + 1), UNKNOWN]
    yield from [(EQUAL, 0, 1, CLONE3[column] or 0), UNKNOWN]
    for rule in RULES.values():
        if (number := rule.numbers[column]) is not None:
            tests = _tests(rule)
            yield (EQUAL, 0, len(tests) + 3, number)
            yield from [(LOAD, 0, 0, FIRST_ARGUMENT + 8 * rule.argument), *tests, FORBID, ALLOW]
    yield from _refusals([number for numbers in REFUSED.values() if (number := numbers[column]) is not None])
    yield ALLOW


def _tests(rule: Rule) -> list[Instruction]:
    """They jump behind the instruction after them where the argument is as it should be."""
    if rule.has:
        return [(ANY_BIT, 1, 0, rule.has)]
    if rule.below:
        return [(AT_LEAST, 0, 1, rule.below)]
    if rule.lacks:
        return [(ANY_BIT, 0, 1, rule.lacks)]
    return [(EQUAL, len(rule.values) - n, 0, value) for n, value in enumerate(rule.values)]


def _refusals(numbers: Sequence[int]) -> list[Instruction]:
    """All of them jump to the last instruction; the last of them skips it."""
    last = len(numbers) - 1
    return [*[(EQUAL, last - n, int(n == last), number) for n, number in enumerate(numbers)], FORBID]
