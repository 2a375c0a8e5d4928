"""Records of customers, hosts and volumes. What the host says now is in `storage.facts`."""

from storage.models.customer import Customer
from storage.models.host import Host
from storage.models.sample import LatestSample, Sample
from storage.models.volume import Placement, Volume

__all__ = ["Customer", "Host", "LatestSample", "Placement", "Sample", "Volume"]
