import { dataStore } from './data-store.ts'
import { iscsiClient } from './iscsi-client.ts'
import { storageContainer } from './storage-container.ts'
import { volumeDisk } from './volume-disk.ts'
import { volumeGroup } from './volume-group.ts'

export const storage = { dataStore, iscsiClient, storageContainer, volumeDisk, volumeGroup }
