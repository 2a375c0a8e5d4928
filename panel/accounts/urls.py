"""People."""

from __future__ import annotations

from django.urls import path

from panel.accounts import invitation_pages, people_pages

urlpatterns = [
    path("invitation/<str:token>", invitation_pages.invitation_page, name="invitation"),
    path("people/", people_pages.people_list, name="people"),
    path("people/<int:pk>/", people_pages.person, name="person"),
    path("people/<int:pk>/role", people_pages.change_role, name="person-role"),
    path("people/<int:pk>/deactivate", people_pages.deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate", people_pages.reactivate, name="person-reactivate"),
    path("people/<int:pk>/signout", people_pages.sign_out, name="person-signout"),
    path("people/<int:pk>/password", people_pages.new_password, name="person-password"),
    path("people/<int:pk>/customers", people_pages.add_member, name="person-customers"),
    path("people/invitations/<int:pk>", people_pages.invitation, name="invitation-change"),
    path("members/<int:pk>", people_pages.change_member, name="member"),
]
