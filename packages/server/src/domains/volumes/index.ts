import { iscsiClient } from './iscsi-client.ts'
import { nvmfClient } from './nvmf-client.ts'
import { vmAttachment } from './vm-attachment.ts'
import { volumeDisk } from './volume-disk.ts'
import { volumeGroup } from './volume-group.ts'

export const volumes = { iscsiClient, nvmfClient, vmAttachment, volumeDisk, volumeGroup }
