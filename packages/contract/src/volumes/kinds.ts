/** The kinds of the namespace by stem: one line per kind, sorted. */

export { iscsiClientOperations as 'iscsi-client' } from './iscsi-client.ts'
export { nvmfClientOperations as 'nvmf-client' } from './nvmf-client.ts'
export { vmAttachmentOperations as 'vm-attachment' } from './vm-attachment.ts'
export { volumeDiskOperations as 'volume-disk' } from './volume-disk.ts'
export { volumeDiskStatsOperations as 'volume-disk-stats' } from './volume-disk-stats.ts'
export { volumeGroupOperations as 'volume-group' } from './volume-group.ts'
export { volumeGroupStatsOperations as 'volume-group-stats' } from './volume-group-stats.ts'
