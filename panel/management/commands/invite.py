"""`manage.py invite EMAIL`: prints an invitation for staff or for a customer's member."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panel.accounts import invitations
from storage.access import MemberRole, StaffRole
from storage.models import Customer
from storage.planner import Refused


class Command(BaseCommand):
    """Print the link with which a new user chooses a password and signs in."""

    help = "Print an invitation link for this person. It works once, within three days."

    def add_arguments(self, parser: CommandParser) -> None:
        """An address, and what the person will be."""
        parser.add_argument("email")
        place = parser.add_mutually_exclusive_group(required=True)
        place.add_argument("--staff", choices=list(StaffRole), help="role in the provider's staff")
        place.add_argument("--customer", metavar="KEY", help="the customer's key, or external id")
        parser.add_argument(
            "--member",
            choices=list(MemberRole),
            default=MemberRole.OWNER,
            help="role in the customer (default: %(default)s)",
        )

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        """Make the link."""
        try:
            if options["staff"]:
                _, token = invitations.to_staff(email, StaffRole(options["staff"]), None)
            else:
                customer = _customer(options["customer"])
                role = MemberRole(options["member"])
                _, token = invitations.to_customer(email, customer, role, None)
        except Refused as refused:
            raise CommandError(f"{refused.message} {refused.correction}") from None
        self.stdout.write(invitations.link(token))


def _customer(name: str) -> Customer:
    customers = Customer.objects.filter(key=name) | Customer.objects.filter(external_id=name)
    customer = customers.first() if name else None
    if customer is None:
        raise CommandError(f"No customer has the key or external id {name!r}.")
    return customer
