"""Whatever the day, something is charged."""

from tests.panel.orders.month import something_left_to_charge as something_left_to_charge
