/** Errors of this namespace. Source: behaviour volumes-storage.md 1.9. Codes never change meaning. */
export const volumesErrors = {
  ALREADY_ATTACHED: {
    code: 'VOL-10040',
    status: 409,
    message: 'The volume group "{name}" is attached to {consumer} already.',
  },
  DISK_CANNOT_SHRINK: {
    code: 'VOL-10050',
    status: 400,
    message: 'diskSizeBytes: a disk only grows; expected at least {current}, found {requested}.',
  },
  INDEX_IN_USE: {
    code: 'VOL-10011',
    status: 409,
    message: 'Another disk has the same {fields}. Choose a free index, or none.',
  },
  LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS: {
    code: 'VOL-10032',
    status: 409,
    message: 'The volume group "{name}" cannot balance the load of VM attachments and have external clients.',
  },
  NOT_ATTACHED: { code: 'VOL-10041', status: 409, message: 'The volume group "{name}" is not attached to {consumer}.' },
  NO_DATA_SERVICES_ADDRESS: {
    code: 'VOL-10034',
    status: 409,
    message: 'The cluster "{cluster}" has no data services address. Set network.externalDataServiceIp first.',
  },
  PROTOCOL_MISMATCH: {
    code: 'VOL-10033',
    status: 409,
    message: 'The volume group "{name}" serves {protocol}; {reason}.',
  },
  RECOVERY_POINT_OF_ANOTHER_GROUP: {
    code: 'VOL-10051',
    status: 400,
    message: 'The recovery point {recoveryPointExtId} is not one of the volume group "{name}".',
  },
  VM_ON_ANOTHER_CLUSTER: {
    code: 'VOL-10042',
    status: 409,
    message: 'The VM "{vm}" is not on the cluster of the volume group "{name}".',
  },
  VOLUME_GROUP_ATTACHED: {
    code: 'VOL-10020',
    status: 409,
    message: 'The volume group "{name}" is attached to {users}. Detach those first.',
  },
  VOLUME_GROUP_BUSY: {
    code: 'VOL-10022',
    status: 409,
    message: 'The volume group "{name}" is {state}. Wait for that, then retry.',
  },
  VOLUME_GROUP_HAS_SEVERAL_ATTACHMENTS: {
    code: 'VOL-10031',
    status: 409,
    message: 'The volume group "{name}" has {count} attachments and must stay SHARED. Detach all but one first.',
  },
  VOLUME_GROUP_IN_USE: {
    code: 'VOL-10021',
    status: 409,
    message: 'The volume group "{name}" is in use by {users}. Power off VMs and end sessions first.',
  },
  VOLUME_GROUP_NAME_EXISTS: {
    code: 'VOL-10010',
    status: 409,
    message: 'Another volume group of this cluster has the same name ({fields}). Choose another one.',
  },
  VOLUME_GROUP_NOT_SHARED: {
    code: 'VOL-10030',
    status: 409,
    message: 'The volume group "{name}" is not shared and attached already. Set sharingStatus to SHARED first.',
  },
  VOLUME_INSUFFICIENT_STORAGE: {
    code: 'VOL-10060',
    status: 409,
    group: 'INSUFFICIENT_STORAGE',
    message: '{attributePath}: {requested} bytes asked for, {available} bytes available.',
  },
  VOLUME_UNKNOWN_ENTITY_ERROR: { code: 'VOL-10001', status: 404, message: 'Unknown {kind} {id}' },
} as const
