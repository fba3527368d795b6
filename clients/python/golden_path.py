"""One path through all namespaces with the unmodified public SDKs: python golden_path.py URL PASSWORD

Finds the cluster; makes a category, an image, a subnet with a pool and a VM; runs it; attaches a volume group; submits
a batch; deletes everything and shows that pools, loads and counts are what they were before.
"""

import datetime
import time
import uuid

import ntnx_clustermgmt_py_client as clustermgmt
import ntnx_iam_py_client as iam
import ntnx_networking_py_client as networking
import ntnx_prism_py_client as prism
import ntnx_vmm_py_client as vmm
import ntnx_volumes_py_client as volumes
from ntnx_clustermgmt_py_client import ClustersApi
from sdk import affected, client, finished, step, tag, wait_for

prism_client, vmm_client, volumes_client = client(prism), client(vmm), client(volumes)
categories = prism.CategoriesApi(prism_client)
batches = prism.BatchesApi(prism_client)
clusters = ClustersApi(client(clustermgmt))
subnets = networking.SubnetsApi(client(networking))
images = vmm.ImagesApi(vmm_client)
vms = vmm.VmApi(vmm_client)
stats = vmm.StatsApi(vmm_client)
groups = volumes.VolumeGroupsApi(volumes_client)
users = iam.UsersApi(client(iam))
run = uuid.uuid4().hex[:8]


def host_load(host):
    return clusters.get_host_by_id(cluster.ext_id, host).data.hypervisor.number_of_vms or 0


def free_addresses(subnet):
    return subnets.get_subnet_by_id(subnet).data.ip_usage.num_free_i_ps


assert any(user.username == "admin" for user in users.list_users(_filter="username eq 'admin'").data)
step("iam: the signed-in user is listed")

found = clusters.list_clusters(_filter="config/clusterFunction/any(t:t eq Clustermgmt.Config.ClusterFunctionRef'AOS')").data
cluster = found[0]
assert cluster.name == "hp-native-01"
hosts = clusters.list_hosts_by_cluster_id(cluster.ext_id).data
loads_before = {host.ext_id: host_load(host.ext_id) for host in hosts}
step(f"clustermgmt: {cluster.name} with {len(hosts)} hosts")

category = categories.create_category(body=prism.Category(key="golden", value=run)).data
step("platform: a category")

image_task = finished(
    images.create_image(
        body=vmm.Image(
            name=f"golden-{run}",
            type="DISK_IMAGE",
            source=vmm.UrlSource(url=f"https://images.example.com/ubuntu-{run}.qcow2"),
        )
    ).data
)
image_id = affected(image_task, "vmm:content:image")
image = images.get_image_by_id(image_id).data
assert image.size_bytes > 0 and image.checksum is None, "only a checksum that was given is shown"
step("vmm: an image from a URL")


def ip(text):
    return networking.IPv4Address(value=text)


subnet_task = finished(
    subnets.create_subnet(
        body=networking.Subnet(
            name=f"golden-{run}",
            subnet_type="VLAN",
            network_id=777,
            cluster_reference=cluster.ext_id,
            ip_config=[
                networking.IPConfig(
                    ipv4=networking.IPv4Config(
                        ip_subnet=networking.IPv4Subnet(ip=ip("10.77.0.0"), prefix_length=24),
                        default_gateway_ip=ip("10.77.0.1"),
                        pool_list=[networking.IPv4Pool(start_ip=ip("10.77.0.50"), end_ip=ip("10.77.0.99"))],
                    )
                )
            ],
        )
    ).data
)
subnet_id = affected(subnet_task, "networking:config:subnet")
free_before = free_addresses(subnet_id)
assert free_before == 50, free_before
step("networking: a VLAN subnet with a pool of 50")

disk = vmm.AhvConfigDisk(
    backing_info=vmm.AhvConfigVmDisk(
        data_source=vmm.DataSource(reference=vmm.ImageReference(image_ext_id=image_id)),
    )
)
nic = vmm.AhvConfigNic(
    nic_network_info=vmm.VirtualEthernetNicNetworkInfo(subnet=vmm.SubnetReference(ext_id=subnet_id)),
    nic_backing_info=vmm.VirtualEthernetNic(is_connected=True),
)
vm_task = finished(
    vms.create_vm(
        body=vmm.AhvConfigVm(
            name=f"golden-{run}",
            num_sockets=2,
            cluster=vmm.AhvConfigClusterReference(ext_id=cluster.ext_id),
            disks=[disk],
            nics=[nic],
            categories=[vmm.AhvConfigCategoryReference(ext_id=category.ext_id)],
        )
    ).data
)
vm_id = affected(vm_task, "vmm:ahv:config:vm")
vm = vms.get_vm_by_id(vm_id).data
assert vm.power_state == "OFF" and vm.host is None
assert vm.memory_size_bytes == 1024**3, "the default of a VM that names no size"
step("vmm: a VM with a disk cloned from the image")
assert categories.get_category_by_id(category.ext_id).data.associations is None, "only $expand shows them"
counts = categories.get_category_by_id(category.ext_id, _expand="associations").data.associations
assert [(entry.resource_type, entry.count) for entry in counts] == [("VM", 1)], counts
step("platform: the category counts one VM")


started_at = datetime.datetime.now(datetime.timezone.utc)
finished(vms.power_on_vm(vm_id, if_match=tag(vmm_client, vm)).data)
vm = vms.get_vm_by_id(vm_id).data
assert vm.power_state == "ON"
host = vm.host.ext_id
assert host_load(host) == loads_before[host] + 1
step("vmm: powered on, placed on a host whose load rose")


def address(found):
    network = found.nics[0].network_info
    return network.ipv4_config.ip_address.value if network.ipv4_config else None


assert address(vm) == "10.77.0.50", address(vm)
assert free_addresses(subnet_id) == free_before - 1
learned = wait_for(
    lambda: vms.get_vm_by_id(vm_id).data.nics[0].network_info.ipv4_info,
    lambda info: info is not None and info.learned_ip_addresses,
    "the guest learns its address",
)
assert learned.learned_ip_addresses[0].value == "10.77.0.50"
step("networking: the guest has an address of the pool")

fmt = "%Y-%m-%dT%H:%M:%SZ"


def cpu(span_from, span_to):
    data = stats.get_vm_stats_by_id(vm_id, _startTime=span_from, _endTime=span_to, _select="*").data
    return [point.hypervisor_cpu_usage_ppm for point in data.stats or []]


def now():
    return datetime.datetime.now(datetime.timezone.utc)


points = wait_for(lambda: cpu(started_at - datetime.timedelta(seconds=1), now()), lambda series: len(series) >= 1, "a first sample")
demo = vms.list_vms(_filter="name eq 'web-01'").data[0].ext_id
history = stats.get_vm_stats_by_id(demo, _startTime=now() - datetime.timedelta(hours=24), _endTime=now(), _samplingInterval=300).data.stats
usage = [point.hypervisor_cpu_usage_ppm for point in history]
assert len(usage) > 200 and len(set(usage)) > 20, "statistics move"
step(f"vmm: statistics move ({len(points)} sample of the new VM, {len(usage)} of an old one)")

group_task = finished(groups.create_volume_group(body=volumes.VolumeGroup(name=f"golden-{run}", cluster_reference=cluster.ext_id)).data)
group_id = affected(group_task, "volumes:config:volume-group")
finished(groups.create_volume_disk(group_id, body=volumes.VolumeDisk(disk_size_bytes=1024**3)).data)
group = groups.get_volume_group_by_id(group_id).data
finished(groups.attach_vm(group_id, body=volumes.VmAttachment(ext_id=vm_id), if_match=tag(volumes_client, group)).data)
assert len(groups.list_vm_attachments_by_volume_group_id(group_id).data) == 1
step("volumes: a volume group attached to the running VM")

batch_task = finished(
    batches.submit_batch(
        body=prism.BatchSpec(
            metadata=prism.BatchSpecMetadata(action="CREATE", name=f"golden-{run}", uri="/api/prism/v4.3/config/categories", chunk_size=25),
            payload=[prism.BatchSpecPayload(data=prism.Category(key=f"golden-{run}", value=str(number))) for number in range(100)],
        )
    ).data
)
made = categories.list_categories(_filter=f"key eq 'golden-{run}'", _limit=100)
assert made.metadata.total_available_results == 100
step("platform: a batch of 100 categories")

for entry in made.data:
    for attempt in range(20):
        try:
            categories.delete_category_by_id(entry.ext_id)
            break
        except prism.rest.ApiException as error:
            if error.status != 429:
                raise
            time.sleep(1)

vm = vms.get_vm_by_id(vm_id).data
finished(groups.detach_vm(group_id, body=volumes.VmAttachment(ext_id=vm_id)).data)
finished(groups.delete_volume_group_by_id(group_id).data)
vm = vms.get_vm_by_id(vm_id).data
finished(vms.power_off_vm(vm_id, if_match=tag(vmm_client, vm)).data)
vm = vms.get_vm_by_id(vm_id).data
finished(vms.delete_vm_by_id(vm_id, if_match=tag(vmm_client, vm)).data)
assert free_addresses(subnet_id) == free_before
assert host_load(host) == loads_before[host]
assert not categories.get_category_by_id(category.ext_id, _expand="associations").data.associations
step("pools, loads and association counts are what they were before")
finished(subnets.delete_subnet_by_id(subnet_id).data)
finished(images.delete_image_by_id(image_id).data)
categories.delete_category_by_id(category.ext_id)
step("everything is deleted")
print("1 passed, 0 failed")
