/** The kinds of the namespace by stem: one line per kind, sorted. */

export { dataStoreOperations as 'data-store' } from './data-store.ts'
export { iscsiClientOperations as 'iscsi-client' } from './iscsi-client.ts'
export { storageContainerOperations as 'storage-container' } from './storage-container.ts'
export { volumeDiskOperations as 'volume-disk' } from './volume-disk.ts'
export { volumeGroupOperations as 'volume-group' } from './volume-group.ts'
