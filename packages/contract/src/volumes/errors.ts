import { errorTable } from '../error-table.ts'

/** Errors of this namespace. Source: behaviour volumes-storage.md 1.9. Codes never change meaning. */
export const volumesErrors = errorTable({
  ALREADY_ATTACHED: { 'VOL-10040 409': 'The volume group "{name}" is attached to {consumer} already.' },
  DISK_CANNOT_SHRINK: {
    'VOL-10050 400': 'diskSizeBytes: a disk only grows; expected at least {current}, found {requested}.',
  },
  INDEX_IN_USE: { 'VOL-10011 409': 'Another disk has the same {fields}. Choose a free index, or none.' },
  LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS: {
    'VOL-10032 409':
      'The volume group "{name}" cannot balance the load of VM attachments while it has external clients.',
  },
  NOT_ATTACHED: { 'VOL-10041 409': 'The volume group "{name}" is not attached to {consumer}.' },
  NO_DATA_SERVICES_ADDRESS: {
    'VOL-10034 409': 'The cluster "{cluster}" has no data services address. Set network.externalDataServiceIp first.',
  },
  PROTOCOL_MISMATCH: { 'VOL-10033 409': 'The volume group "{name}" serves {protocol}; {reason}.' },
  RECOVERY_POINT_OF_ANOTHER_GROUP: {
    'VOL-10051 400': 'The recovery point {recoveryPointExtId} is not one of the volume group "{name}".',
  },
  VM_ON_ANOTHER_CLUSTER: { 'VOL-10042 409': 'The VM "{vm}" is not on the cluster of the volume group "{name}".' },
  VOLUME_GROUP_ATTACHED: { 'VOL-10020 409': 'The volume group "{name}" is attached to {users}. Detach those first.' },
  VOLUME_GROUP_BUSY: { 'VOL-10022 409': 'The volume group "{name}" is {state}. Wait for that, then retry.' },
  VOLUME_GROUP_HAS_SEVERAL_ATTACHMENTS: {
    'VOL-10031 409':
      'The volume group "{name}" has {count} attachments and must stay SHARED. Detach all but one first.',
  },
  VOLUME_GROUP_IN_USE: {
    'VOL-10021 409': 'The volume group "{name}" is in use by {users}. Power off VMs and end sessions first.',
  },
  VOLUME_GROUP_NAME_EXISTS: {
    'VOL-10010 409': 'Another volume group of this cluster has the same name ({fields}). Choose another one.',
  },
  VOLUME_GROUP_NOT_SHARED: {
    'VOL-10030 409':
      'The volume group "{name}" is attached already, and not shared. Set sharingStatus to SHARED first.',
  },
  VOLUME_INSUFFICIENT_STORAGE: {
    'VOL-10060 409 INSUFFICIENT_STORAGE': '{attributePath}: {requested} bytes requested, {available} bytes available.',
  },
  VOLUME_UNKNOWN_ENTITY_ERROR: { 'VOL-10001 404': 'Unknown {kind} {id}' },
})
