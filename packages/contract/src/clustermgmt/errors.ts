/** Errors of this namespace. Source: behaviour clustermgmt.md 1.10, 1.18. Codes never change meaning. */
export const clustermgmtErrors = {
  CLUSTER_ADDRESS_IN_USE: {
    code: 'CLUSTER-10014',
    status: 409,
    group: 'ADDRESS_IN_USE',
    message: '{attributePath}: the address {address} is in use by {user}. Choose a free one.',
  },
  CLUSTER_BUSY: {
    code: 'CLUSTER-10015',
    status: 409,
    message: 'The cluster "{name}" is being changed by task {taskExtId}. Wait for it, then retry.',
  },
  CLUSTER_CANNOT_TOLERATE: {
    code: 'CLUSTER-10022',
    status: 409,
    message: 'The cluster "{name}" cannot do without host "{host}" now: {reason}.',
  },
  CLUSTER_HAS_ANOTHER_PROFILE: {
    code: 'CLUSTER-10060',
    status: 409,
    message: 'The cluster "{name}" follows the profile "{profile}" already. Disassociate it from that one first.',
  },
  CLUSTER_HOSTS_MANAGER: {
    code: 'CLUSTER-10021',
    status: 409,
    message: 'The cluster "{name}" is or hosts the manager and cannot be destroyed.',
  },
  CLUSTER_NAME_EXISTS: {
    code: 'CLUSTER-10011',
    status: 409,
    message: 'Another cluster has the same {fields}. Choose another value.',
  },
  CLUSTER_NOT_EMPTY: {
    code: 'CLUSTER-10020',
    status: 409,
    message: 'The cluster "{name}" still holds {users}. Remove those first.',
  },
  CLUSTER_PROFILE_IN_USE: {
    code: 'CLUSTER-10061',
    status: 409,
    message: 'The cluster profile "{name}" is applied to {users}. Disassociate those first.',
  },
  CLUSTER_PROFILE_NAME_EXISTS: {
    code: 'CLUSTER-10013',
    status: 409,
    message: 'This cluster profile name already exists on another profile. Choose another {fields}.',
  },
  CLUSTER_PROFILE_NOT_FOUND: {
    code: 'PLAT-10007',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'Cluster profile {id} not found ({attribute}): valid metadata or attributes could not be fetched.',
  },
  CLUSTER_UNREACHABLE: {
    code: 'CLUSTER-10503',
    status: 503,
    message: 'The cluster "{name}" does not answer. Retry when it is reachable again.',
  },
  DATASTORE_IN_USE: {
    code: 'CLUSTER-10053',
    status: 409,
    message: 'The datastore "{name}" is in use by {users}. Power those off first.',
  },
  DISK_ALREADY_IN_USE: {
    code: 'CLUSTER-10040',
    status: 409,
    message: 'The disk {serialNumber} is in the storage pool already.',
  },
  DISK_REMOVAL_IN_PROGRESS: {
    code: 'CLUSTER-10041',
    status: 409,
    message: 'The disk {serialNumber} is being removed already.',
  },
  DISK_REQUIRED: {
    code: 'CLUSTER-10043',
    status: 409,
    message: 'The disk {serialNumber} cannot be removed: {reason}.',
  },
  DISK_UNHEALTHY: {
    code: 'CLUSTER-10042',
    status: 409,
    message: 'The disk {serialNumber} is offline or broken. Replace it first.',
  },
  HOST_ALREADY_IN_MAINTENANCE: {
    code: 'CLUSTER-10031',
    status: 409,
    message: 'The host "{name}" is in maintenance already.',
  },
  HOST_NOT_IN_MAINTENANCE: { code: 'CLUSTER-10030', status: 409, message: 'The host "{name}" is not in maintenance.' },
  HOST_UNREACHABLE: {
    code: 'CLUSTER-10032',
    status: 409,
    message: 'The host "{name}" does not answer. Bring it back first.',
  },
  INSUFFICIENT_STORAGE: {
    code: 'CLUSTER-10050',
    status: 409,
    message: '{attributePath}: {requested} bytes asked for, {available} bytes available.',
  },
  INVALID_CERTIFICATE: {
    code: 'CLUSTER-10003',
    status: 400,
    message: '{attributePath}: expected {expected}, found {found}.',
  },
  NOT_AN_ESX_CLUSTER: {
    code: 'CLUSTER-10002',
    status: 400,
    message: 'The cluster "{name}" is no ESX cluster; {action} is for those only.',
  },
  NOT_ENOUGH_HOST_MEMORY: {
    code: 'CLUSTER-10033',
    status: 409,
    message: 'Not enough memory for VMs would be left on {hosts}.',
  },
  NOT_SUPPORTED_ON_MANAGER: {
    code: 'CLUSTER-10001',
    status: 400,
    message:
      '"{name}" is the manager itself, which has no hosts, disks or containers; {action} needs a cluster that has.',
  },
  SNMP_TRAP_EXISTS: {
    code: 'PLAT-10011',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'The cluster sends traps to this address and port for this username already. Change that trap instead.',
  },
  SNMP_USER_IN_USE: {
    code: 'CLUSTER-10070',
    status: 409,
    message: 'The SNMP user "{name}" is in use by {users}. Remove those traps first.',
  },
  STORAGE_CONTAINER_NAME_EXISTS: {
    code: 'CLUSTER-10012',
    status: 409,
    message: 'Another storage container of this cluster has the same name ({fields}). Choose another one.',
  },
  STORAGE_CONTAINER_NOT_EMPTY: {
    code: 'CLUSTER-10052',
    status: 409,
    message: 'The storage container "{name}" still holds {users}. Remove those first.',
  },
  SYSTEM_PASSWORD_NOT_CHANGED: {
    code: 'CLUSTER-10074',
    status: 409,
    message: 'Failed to change system user password due to {reason}.',
  },
  TASK_NOT_COMPLETE: { code: 'CLUSTER-10073', status: 409, message: 'The task {taskExtId} has no result: {reason}.' },
  TOO_FEW_NODES_FOR_ERASURE_CODING: {
    code: 'CLUSTER-10051',
    status: 409,
    message:
      'Erasure coding with replication factor {replicationFactor} needs {needed} hosts; the cluster has {found}.',
  },
  VCENTER_ALREADY_REGISTERED: {
    code: 'CLUSTER-10071',
    status: 409,
    message: 'The vCenter {address} is registered already.',
  },
  VCENTER_REFUSED: { code: 'CLUSTER-10075', status: 409, message: 'The vCenter was not changed: {reason}.' },
  VCENTER_NOT_REGISTERED: { code: 'CLUSTER-10072', status: 409, message: 'The vCenter {address} is not registered.' },
} as const
