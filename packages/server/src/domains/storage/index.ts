/** Handlers of the namespace storage: one line per kind, sorted. */

export { dataStore } from './data-store.ts'
export { iscsiClient } from './iscsi-client.ts'
export { storageContainer } from './storage-container.ts'
export { volumeDisk } from './volume-disk.ts'
export { volumeGroup } from './volume-group.ts'
