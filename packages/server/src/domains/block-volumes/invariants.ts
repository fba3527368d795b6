/** References guarantee that group and consumer exist. Source: behaviour volumes-storage.md 1.4 to 1.6. */
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import type { Reader } from '../../store/store.ts'
import type { Broken, Invariant } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'

export const volumeRules: readonly Invariant[] = [
  { promise: 'Every attachment of a volume group has one consumer, and a place where that is a VM', look: attachments },
]

async function* attachments(store: Reader): AsyncGenerator<Broken> {
  for await (const attachment of rowsOf(store, VolumeGroupAttachment)) {
    const { extId, vmExtId, iscsiClientExtId, nvmfClientExtId, volumeGroupExtId, scsiIndex } = attachment
    const consumers = [vmExtId, iscsiClientExtId, nvmfClientExtId].filter((consumer) => consumer !== undefined)
    const about = [extId, volumeGroupExtId, ...consumers]
    if (consumers.length !== 1) yield { about, fault: `the attachment ${extId} has ${consumers.length} consumers` }
    if ((vmExtId === undefined) !== (scsiIndex === undefined))
      yield { about, fault: `the attachment ${extId} has ${scsiIndex ?? 'no index'} as its place on a SCSI bus` }
  }
}
