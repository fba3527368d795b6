import { errorTable } from '../error-table.ts'

/** Errors of this namespace. Source: behaviour clustermgmt.md 1.10, 1.18. Codes never change meaning. */
export const clustermgmtErrors = errorTable({
  CLUSTER_ADDRESS_IN_USE: {
    'CLUSTER-10014 409 ADDRESS_IN_USE':
      '{attributePath}: the address {address} is in use by {user}. Choose a free one.',
  },
  CLUSTER_BUSY: {
    'CLUSTER-10015 409': 'The cluster "{name}" is being changed by task {taskExtId}. Wait for it, then retry.',
  },
  CLUSTER_CANNOT_TOLERATE: {
    'CLUSTER-10022 409': 'The cluster "{name}" cannot work without host "{host}" now: {reason}.',
  },
  CLUSTER_HAS_ANOTHER_PROFILE: {
    'CLUSTER-10060 409':
      'The cluster "{name}" follows the profile "{profile}" already. Disassociate it from that one first.',
  },
  CLUSTER_HOSTS_MANAGER: {
    'CLUSTER-10021 409': 'The cluster "{name}" is or hosts the manager and cannot be destroyed.',
  },
  CLUSTER_NAME_EXISTS: { 'CLUSTER-10011 409': 'Another cluster has the same {fields}. Choose another value.' },
  CLUSTER_NOT_EMPTY: { 'CLUSTER-10020 409': 'The cluster "{name}" still holds {users}. Remove those first.' },
  CLUSTER_PROFILE_IN_USE: {
    'CLUSTER-10061 409': 'The cluster profile "{name}" is applied to {users}. Disassociate those first.',
  },
  CLUSTER_PROFILE_NAME_EXISTS: {
    'CLUSTER-10013 409': 'This cluster profile name already exists on another profile. Choose another {fields}.',
  },
  CLUSTER_PROFILE_NOT_FOUND: {
    'PLAT-10007 404 ENTITY_NOT_FOUND':
      'Cluster profile {id} not found ({attribute}): valid metadata or attributes could not be fetched.',
  },
  CLUSTER_UNREACHABLE: {
    'CLUSTER-10503 503': 'The cluster "{name}" does not answer. Retry when it is reachable again.',
  },
  DATASTORE_IN_USE: { 'CLUSTER-10053 409': 'The datastore "{name}" is in use by {users}. Power those off first.' },
  DISK_ALREADY_IN_USE: { 'CLUSTER-10040 409': 'The disk {serialNumber} is in the storage pool already.' },
  DISK_REMOVAL_IN_PROGRESS: { 'CLUSTER-10041 409': 'The disk {serialNumber} is being removed already.' },
  DISK_REQUIRED: { 'CLUSTER-10043 409': 'The disk {serialNumber} cannot be removed: {reason}.' },
  DISK_UNHEALTHY: { 'CLUSTER-10042 409': 'The disk {serialNumber} is offline or broken. Replace it first.' },
  HOST_ALREADY_IN_MAINTENANCE: { 'CLUSTER-10031 409': 'The host "{name}" is in maintenance already.' },
  HOST_NOT_IN_MAINTENANCE: { 'CLUSTER-10030 409': 'The host "{name}" is not in maintenance.' },
  HOST_UNREACHABLE: { 'CLUSTER-10032 409': 'The host "{name}" does not answer. Bring it back first.' },
  INSUFFICIENT_STORAGE: {
    'CLUSTER-10050 409': '{attributePath}: {requested} bytes requested, {available} bytes available.',
  },
  INVALID_CERTIFICATE: { 'CLUSTER-10003 400': '{attributePath}: expected {expected}, found {found}.' },
  NOT_AN_ESX_CLUSTER: { 'CLUSTER-10002 400': 'The cluster "{name}" is no ESX cluster, which {action} needs.' },
  NOT_ENOUGH_HOST_MEMORY: { 'CLUSTER-10033 409': 'Not enough memory for VMs would be left on {hosts}.' },
  NOT_SUPPORTED_ON_MANAGER: {
    'CLUSTER-10001 400':
      '"{name}" is the manager itself, which has no hosts, disks or containers; {action} needs a cluster that has.',
  },
  SNMP_TRAP_EXISTS: {
    'PLAT-10011 409 ENTITY_ALREADY_EXISTS':
      'The cluster sends traps to this address and port for this username already. Change that trap instead.',
  },
  SNMP_USER_IN_USE: { 'CLUSTER-10070 409': 'The SNMP user "{name}" is in use by {users}. Remove those traps first.' },
  STORAGE_CONTAINER_NAME_EXISTS: {
    'CLUSTER-10012 409': 'Another storage container of this cluster has the same name ({fields}). Choose another one.',
  },
  STORAGE_CONTAINER_NOT_EMPTY: {
    'CLUSTER-10052 409': 'The storage container "{name}" still holds {users}. Remove those first.',
  },
  SYSTEM_PASSWORD_NOT_CHANGED: { 'CLUSTER-10074 409': 'Failed to change system user password due to {reason}.' },
  TASK_NOT_COMPLETE: { 'CLUSTER-10073 409': 'The task {taskExtId} has no result: {reason}.' },
  TOO_FEW_NODES_FOR_ERASURE_CODING: {
    'CLUSTER-10051 409':
      'Erasure coding with replication factor {replicationFactor} needs {needed} hosts; the cluster has {found}.',
  },
  VCENTER_ALREADY_REGISTERED: { 'CLUSTER-10071 409': 'The vCenter {address} is registered already.' },
  VCENTER_REFUSED: { 'CLUSTER-10075 409': 'The vCenter was not changed: {reason}.' },
  VCENTER_NOT_REGISTERED: { 'CLUSTER-10072 409': 'The vCenter {address} is not registered.' },
})
