import type { SecretReader } from '../../core/world.ts'
import type { Target } from '../../drivers/block-storage.ts'
import type { Reader } from '../../store/store.ts'
import type { Group } from '../block-volumes/attachments.ts'
import { targetSecretOf, usesChap } from '../block-volumes/iscsi-clients.ts'

/** @param secret plain text of a new secret; default: the stored one */
export function targetOf(
  ctx: { readonly store: Reader; readonly secrets: SecretReader },
  group: Group,
  secret?: string,
): Target {
  return {
    volumeGroupExtId: group.extId,
    clusterExtId: group.clusterReference,
    name: group.targetName as string,
    isSpread: group.shouldLoadBalanceVmAttachments === true,
    isFlashPinned: group.storageFeatures?.flashMode?.isEnabled === true,
    isBackupTarget: group.usageType === 'BACKUP_TARGET',
    chapSecret: usesChap(group) ? (secret ?? targetSecretOf(ctx, group)) : undefined,
  }
}
