"""Errors between panel and host, each with its remedy."""

from __future__ import annotations

from jobs.transport.replies import AgentError
from storage.naming import AGENT_PATH


class TransportError(Exception):
    """The host could not be asked, or its answer cannot be used.

    It says nothing about what the host has done: a request may have arrived all the same.
    """

    code = "transport"

    def __init__(self, message: str, correction: str) -> None:
        super().__init__(message)
        self.message = message
        self.correction = correction

    def to_json(self) -> dict[str, str]:
        """As kept in `Host.error` and `Job.error`."""
        return {"code": self.code, "message": self.message, "correction": self.correction}


class Unreachable(TransportError):
    """No connection, or it was cut."""

    code = "unreachable"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"{where} cannot be reached: {reason}",
            "Check that the host is up, that sshd listens on this address and port, and that no "
            "firewall is between.",
        )


class AnswerTimeout(TransportError):
    """The agent took a request and did not answer in time."""

    code = "no_answer"

    def __init__(self, where: str, seconds: float) -> None:
        super().__init__(
            f"{where} did not answer within {seconds:.0f} s",
            "Check that the host is up and not overloaded (`uptime`). Then look for processes in "
            "state D on the host (a failing disk blocks LVM's reports).",
        )


class HostKeyChanged(TransportError):
    """The host proved to be another one than the one accepted. `seen` is its key."""

    code = "host_key_changed"

    def __init__(self, where: str, pinned: str, seen: str, seen_key: str) -> None:
        super().__init__(
            f"{where} shows the host key {seen}, but {pinned} was accepted for it",
            "If the host was reinstalled, compare the new fingerprint on its console "
            "(ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and accept it; otherwise an "
            "attacker may be between panel and host. Nothing is sent to the host until then.",
        )
        self.seen_key = seen_key


class IdentityConflict(TransportError):
    """Two hosts claim the same machine or the same disks."""

    code = "twins"

    def __init__(self, where: str, other: str, what: str) -> None:
        super().__init__(
            f"{where} and {other} both claim {what}",
            "Nothing is sent to either. Give the clone an identity of its own as root there "
            "(vgimportclone for its disks; rm /etc/machine-id; systemd-machine-id-setup), or take "
            "shared disks away from one of them; then accept the fingerprint of each again.",
        )


class MachineChanged(TransportError):
    """Another machine answers in the host's name, or the host was given another machine id."""

    code = "machine_changed"

    def __init__(self, where: str, accepted: str, seen: str) -> None:
        super().__init__(
            f"{where} says the machine id {seen or '(none)'}, but {accepted} was accepted for it",
            "Nothing is sent to it. If another machine answers at its address (a clone, an address "
            "that moved), correct the address by manage.py enrol, then accept the key accepted "
            "before. If it was reinstalled or given a new id on purpose (compare /etc/machine-id "
            "on its console), run a new enrolment command on it, then accept its fingerprint.",
        )


class NotActive(TransportError):
    """The host may not be contacted in its present state."""

    code = "not_active"

    def __init__(self, where: str, state: str) -> None:
        super().__init__(
            f"{where} is not in use: {state}",
            "Accept its fingerprint on the host page first.",
        )


class AuthRefused(TransportError):
    """sshd does not accept the panel's key."""

    code = "auth_refused"

    def __init__(self, where: str, account: str) -> None:
        super().__init__(
            f"{where} refuses the panel's key for the account {account}",
            "Run the enrolment command on the host again (manage.py enrol prints a new one); check "
            f"that AllowUsers, AllowGroups and DenyUsers in sshd_config admit {account}.",
        )


class TotpDemanded(TransportError):
    """sshd wants more than a key from this account."""

    code = "sshd_totp"

    def __init__(self, where: str, account: str) -> None:
        super().__init__(
            f"{where} requires a one-time code or a password in addition to the key",
            f"{match_user_block(account)}\n"
            "Add these lines at the end of /etc/ssh/sshd_config on the host, then reload sshd.",
        )


class SudoTty(TransportError):
    """sudo wants a terminal."""

    code = "sudo_tty"

    def __init__(self, where: str, account: str) -> None:
        super().__init__(
            f"sudo on {where} requires a terminal for {account}",
            f"Defaults:{account} !requiretty\n"
            "Add this line to /etc/sudoers.d/tiercel on the host (use visudo -f), or run the "
            "enrolment command again.",
        )


class SudoRefused(TransportError):
    """sudo does not let the account run the agent."""

    code = "auth_refused"

    def __init__(self, where: str, account: str, stderr: str) -> None:
        super().__init__(
            f"sudo on {where} does not let {account} run the agent: {stderr}",
            "Run the enrolment command on the host again; a later file in /etc/sudoers.d may take "
            "the permission back.",
        )


class AgentMissing(TransportError):
    """The account is there, the agent is not."""

    code = "agent_missing"

    def __init__(self, where: str, stderr: str) -> None:
        super().__init__(
            f"The agent does not start on {where}: {stderr or 'no output'}",
            f"Run the enrolment command on the host again: it installs {AGENT_PATH}.",
        )


class BadReply(TransportError):
    """What came back is not a reply of the agent."""

    code = "bad_reply"

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"{where} sent an invalid answer: {why}",
            "Run the enrolment command on the host again: it installs the agent of this release. "
            "Check that no shell profile of the account prints text.",
        )


class AgentFailed(BadReply):
    """The agent could not look at its host, and says itself why; it may pass, as a bad reply."""

    def __init__(self, where: str, error: AgentError) -> None:
        TransportError.__init__(self, f"{where}: {error.message}", error.correction)
        self.code = error.code


def match_user_block(account: str) -> str:
    """The sshd_config block that exempts the account from one-time codes, and only it."""
    return f"Match User {account}\n    AuthenticationMethods publickey"


def refused_start(where: str, account: str, stderr: str) -> TransportError:
    """Why the agent's channel closed at once, from what the host wrote to stderr."""
    text = stderr.strip().splitlines()[-1][:300] if stderr.strip() else ""
    if "must have a tty" in stderr:
        return SudoTty(where, account)
    if "sudo:" in stderr and ("password is required" in stderr or "not allowed" in stderr):
        return SudoRefused(where, account, text)
    return AgentMissing(where, text)
