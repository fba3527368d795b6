/** Handlers of the namespace volumes: one line per kind, sorted. */

export { iscsiClient } from './iscsi-client.ts'
export { nvmfClient } from './nvmf-client.ts'
export { vmAttachment } from './vm-attachment.ts'
export { volumeDisk } from './volume-disk.ts'
export { volumeDiskStats } from './volume-disk-stats.ts'
export { volumeGroup } from './volume-group.ts'
export { volumeGroupStats } from './volume-group-stats.ts'
