"""Service of a cluster with the unmodified public SDK: python service_path.py URL PASSWORD

Reads the hardware; sets up SNMP and rsyslog; drains a host; adds a discovered node and removes it again; changes a
password and the certificate. At the end the cluster is as it was before, but for the password and the certificate.
"""

import datetime
import uuid

import ntnx_clustermgmt_py_client as clustermgmt
from sdk import client, finished, step, tag

cm = client(clustermgmt)
clusters = clustermgmt.ClustersApi(cm)
disks = clustermgmt.DisksApi(cm)
cvms = clustermgmt.CvmsApi(cm)
passwords = clustermgmt.PasswordManagerApi(cm)
certificates = clustermgmt.SSLCertificateApi(cm)
run = uuid.uuid4().hex[:8]

cluster = clusters.list_clusters(_filter="name eq 'hp-native-01'").data[0].ext_id
hosts = clusters.list_hosts_by_cluster_id(cluster).data
host = hosts[1].ext_id


def of(address):
    return clustermgmt.IPAddress(ipv4=clustermgmt.IPv4Address(value=address))


now = datetime.datetime.now(datetime.timezone.utc)
window = {"_startTime": now - datetime.timedelta(hours=1), "_endTime": now, "_samplingInterval": 60}
own = disks.list_disks(_filter=f"hostName eq '{hosts[1].host_name}'", _limit=100).data
assert own and all(disk.node_ext_id == host for disk in own)
assert any(point.value for point in disks.get_disk_stats(own[0].ext_id, **window).data.disk_num_iops)
cvm = next(cvm for cvm in cvms.list_cvmsby_cluster_id(cluster).data if cvm.node_ext_id == host)
assert cvms.get_cvm_by_id(cluster, cvm.ext_id).data.name == cvm.name
unit = clusters.list_rackable_units_by_cluster_id(cluster).data[0]
assert len(clusters.get_rackable_unit_by_id(cluster, unit.ext_id).data.nodes) == len(hosts)
assert clusters.list_host_nics_by_host_id(cluster, host).data and clusters.list_virtual_nics_by_host_id(cluster, host).data
step(f"{len(own)} disks of a host, with statistics, its controller VM and its NICs")


def snmp():
    return clusters.get_snmp_config_by_cluster_id(cluster).data


user = clustermgmt.SnmpUser(username=f"sdk-{run}", auth_type="SHA", auth_key="Abcdefgh1!", priv_type="AES", priv_key="Abcdefgh2!")
finished(clusters.create_snmp_user(cluster, body=user).data)
made = next(each for each in snmp().users if each.username == user.username)
assert made.auth_key is None and made.priv_key is None, "keys are never shown"
trap = clustermgmt.SnmpTrap(address=of("192.0.2.7"), username=user.username, protocol="UDP", port=162, version="V3")
finished(clusters.create_snmp_trap(cluster, body=trap).data)
receiver = next(each for each in snmp().traps if each.username == user.username)
for read, remove, ext_id in (
    (clusters.get_snmp_trap_by_id, clusters.delete_snmp_trap_by_id, receiver.ext_id),
    (clusters.get_snmp_user_by_id, clusters.delete_snmp_user_by_id, made.ext_id),
):
    finished(remove(cluster, ext_id, if_match=tag(cm, read(cluster, ext_id).data)).data)
assert not any(each.username == user.username for each in snmp().users)
step("an SNMP user, and a receiver of its traps")

server = clustermgmt.RsyslogServer(
    server_name=f"sdk-{run}",
    ip_address=of("192.0.2.8"),
    port=514,
    network_protocol="UDP",
    modules=[clustermgmt.RsyslogModuleItem(name="API_AUDIT", log_severity_level="INFO", should_log_monitor_files=False)],
)
finished(clusters.create_rsyslog_server(cluster, body=server).data)
stored = next(each for each in clusters.list_rsyslog_servers_by_cluster_id(cluster).data if each.server_name == server.server_name)
stored = clusters.get_rsyslog_server_by_id(cluster, stored.ext_id).data
finished(clusters.delete_rsyslog_server_by_id(cluster, stored.ext_id, if_match=tag(cm, stored)).data)
step("an rsyslog server")

finished(clusters.enter_host_maintenance(cluster, host, body=clustermgmt.EnterHostMaintenanceSpec(should_rollback_on_failure=True)).data)
assert clusters.get_host_by_id(cluster, host).data.hypervisor.number_of_vms in (0, None)
finished(clusters.exit_host_maintenance(cluster, host, body=clustermgmt.HostMaintenanceCommonSpec()).data)
step("a host drained and taken back")


def result_of(reference, kind):
    task = finished(reference)
    return clusters.fetch_task_response(task.ext_id.split(":")[-1], kind).data.response


discovery = clustermgmt.NodeDiscoveryParams(address_type="IPV4")
node = result_of(clusters.discover_unconfigured_nodes(cluster, body=discovery).data, "UNCONFIGURED_NODES").node_list[0]
identity = {
    "node_uuid": node.node_uuid,
    "block_id": node.rackable_unit_serial,
    "node_position": node.node_position,
    "cvm_ip": node.cvm_ip,
    "hypervisor_ip": node.hypervisor_ip,
    "ipmi_ip": node.ipmi_ip,
    "hypervisor_type": node.hypervisor_type,
    "hypervisor_version": node.hypervisor_version,
    "nos_version": node.nos_version,
    "model": node.rackable_unit_model,
}
details = clustermgmt.NodeDetails(node_list=[clustermgmt.NodeListNetworkingDetails(**identity)], request_type="expand_cluster")
networking = result_of(clusters.fetch_node_networking_details(cluster, body=details).data, "NETWORKING_DETAILS")
bridges = zip(networking.network_info.hci, networking.uplinks[0].uplink_list)
networks = [
    clustermgmt.UplinkNetworkItem(
        name=bridge.name,
        networks=bridge.networks,
        uplinks=clustermgmt.Uplinks(active=[clustermgmt.UplinksField(mac=nic.mac, name=nic.name, value=nic.name)], standby=[]),
    )
    for bridge, nic in bridges
]
item = clustermgmt.NodeItem(**identity, hypervisor_hostname=f"sdk-{run}", networks=networks)
config = clustermgmt.ConfigParams(should_skip_imaging=True, target_hypervisor="AHV")
expansion = clustermgmt.ExpandClusterParams(node_params=clustermgmt.NodeParam(node_list=[item]), config_params=config)
finished(clusters.expand_cluster(cluster, body=expansion).data)
joined = next(each for each in clusters.list_hosts_by_cluster_id(cluster).data if each.host_name == f"sdk-{run}")
step("a discovered node that joins the cluster")
finished(clusters.remove_node(cluster, body=clustermgmt.NodeRemovalParams(node_uuids=[joined.ext_id])).data)
assert len(clusters.list_hosts_by_cluster_id(cluster).data) == len(hosts)
step("and leaves it again")

account = next(each for each in passwords.list_system_user_passwords(_limit=100).data if each.system_type == "IPMI")
change = clustermgmt.ChangePasswordSpec(new_password=f"Sdk.{run}!A1")
finished(passwords.change_system_user_password_by_id(account.ext_id, body=change).data)
certificate = certificates.get_ssl_certificate(cluster).data
renewal = clustermgmt.SSLCertificate(private_key_algorithm="RSA_2048")
finished(certificates.update_ssl_certificate(cluster, body=renewal, if_match=tag(cm, certificate)).data)
renewed = certificates.get_ssl_certificate(cluster).data
assert renewed.public_certificate != certificate.public_certificate and renewed.private_key is None
step("a new password of a BMC, and a new certificate")
print("1 passed, 0 failed")
