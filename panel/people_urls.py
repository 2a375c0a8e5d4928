"""People and customers."""

from __future__ import annotations

from django.urls import path

from panel import customers, entrance, members, standing

urlpatterns = [
    path("invitation/<str:token>", entrance.accept, name="invitation"),
    path("people/", members.people_list, name="people"),
    path("people/<int:pk>/", members.person, name="person"),
    path("people/<int:pk>/role", members.change_role, name="person-role"),
    path("people/<int:pk>/deactivate", members.deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate", members.reactivate, name="person-reactivate"),
    path("people/<int:pk>/signout", members.sign_out, name="person-signout"),
    path("people/<int:pk>/password", members.new_password, name="person-password"),
    path("people/<int:pk>/customers", members.add_member, name="person-customers"),
    path("members/<int:pk>", members.change_member, name="member"),
    path("customers/", customers.customers, name="customers"),
    path("customers/new", customers.new_customer, name="customer-new"),
    path("customers/<str:key>/", customers.customer, name="customer"),
    path("customers/<str:key>/edit", customers.edit_customer, name="customer-edit"),
    path("customers/<str:key>/mandate", standing.mandate, name="customer-mandate"),
    path("customers/<str:key>/suspend", standing.suspend, name="customer-suspend"),
    path("customers/<str:key>/unsuspend", standing.unsuspend, name="customer-unsuspend"),
]
