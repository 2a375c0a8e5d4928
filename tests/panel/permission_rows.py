"""Who may do what: one line for each route and method. `test_permissions` fails where a route of
the panel is missing here, or where one is named that is gone.

A line is `Row(route name, method, outcome for each role, arguments, data sent)`. Arguments and
`{…}` in data name objects of `tests.panel.cast.Cast`; an argument is always Acme's object. What
may happen to a role, in the order of ROLES:

    in      the view did what it is for, even if that is a refusal of the input (409, 422)
    mine    sent to the pages of customers
    login   sent to the sign-in page
    401     the API does not know who asks
    403     known, but not allowed
    404     nothing there for these eyes
"""

from __future__ import annotations

from dataclasses import dataclass, field

ROLES = ("anonymous", "viewer", "owner", "other", "read_only", "operator", "admin")

# viewer and owner belong to Acme, other owns another customer, the last three are staff.
#            anonymous  viewer  owner  other  read_only  operator  admin
OPEN = "     in         in      in     in     in         in        in   "
PERSON = "   login      in      in     in     in         in        in   "
SEE = "      login      404     404    404    in         in        in   "
OPERATE = "  login      404     404    404    403        in        in   "
ADMINISTER = "login     404     404    404    403        403       in   "
SHARED = "   login      in      in     404    in         in        in   "
MEMBERS = "  login      in      in     in     404        404       404  "
OWN = "      login      in      in     404    404        404       404  "
API = "      401        in      in     in     in         in        in   "
API_OWN = "  401        in      in     404    in         in        in   "
API_SEE = "  401        404     404    404    in         in        in   "
API_WRITE = "401        403     403    403    403        in        in   "
API_STAFF = "401        404     404    404    403        in        in   "
API_ADMIN = "401        404     404    404    403        403       in   "
API_SELL = " 401        403     403    403    403        403       in   "
API_TOKEN = "401        404     in     404    404        404       in   "
API_NOTHING = "401      404     404    404    404        404       404  "
API_SIGNED = "401      401    401    401    401        401       401  "
API_ORDER = "401        403     in     404    403        403       403  "
OWNERS = "   login      404     in     404    404        404       404  "


@dataclass(frozen=True, slots=True)
class Row:
    """Routes of the API are asked with a bearer token of the role, for all it may have."""

    name: str
    method: str
    outcomes: str
    args: tuple[str, ...] = ()
    data: dict[str, str] = field(default_factory=dict)

    @property
    def is_api(self) -> bool:
        """Whether it is a route of the API."""
        return self.name.startswith("api-")
