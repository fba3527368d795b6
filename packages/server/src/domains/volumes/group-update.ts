/** A sparse PUT. Source: behaviour volumes-storage.md 1.1, 1.2. */

import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { rowWithId } from '../../core/standard.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import type { SecretReader } from '../../core/world.ts'
import type { Reader } from '../../store/store.ts'
import {
  type Attachment,
  claimsOn,
  consumerOf,
  type Group,
  isExternal,
  requireRoomToBalance,
} from '../block-volumes/attachments.ts'
import { groupTask, requireUsable } from '../block-volumes/groups.ts'
import { clientSecretOf, targetSecretOf, usesChap } from '../block-volumes/iscsi-clients.ts'
import { defineTask, type WriteContext } from '../context.ts'
import { type Access, accessAfter, type GroupBody, namingAfter } from './group-rules.ts'
import { targetOf } from './group-target.ts'

interface Change {
  readonly groupExtId: string
  readonly body: GroupBody
}

interface Reading {
  readonly store: Reader
  readonly secrets: SecretReader
}

export async function updateGroup(ctx: WriteContext, group: Group, given: GroupBody): Promise<TaskStarted> {
  // Disks have their own operations; the other two fields are derived.
  const { disks: _, attachmentType: __, protocol: ___, ...body } = given
  await groupAfter(ctx, group, body)
  await requireUsable(ctx, group)
  await requireFreeName(ctx.store, group, body)
  await ctx.store.touch(VolumeGroup, group.extId)
  const options = groupTask('VolumeGroupUpdate', 'Update Volume Group', group)
  return ctx.startTask(changeGroup, { groupExtId: group.extId, body }, options)
}

export const changeGroup = defineTask<Change>({
  name: 'volumes.update-volume-group',
  steps: [
    {
      name: 'apply',
      progress: 90,
      seconds: [0.5, 1],
      run: async (ctx, { groupExtId, body }) => {
        const next = await groupAfter(ctx, await rowWithId(ctx.store, VolumeGroup, groupExtId), body)
        await ctx.drivers.blockStorage.putTarget(targetOf(ctx, next, body.iscsiFeatures?.targetSecret))
      },
      undo: async (ctx, { groupExtId }) => {
        const group = await ctx.store.get(VolumeGroup, groupExtId)
        if (group !== undefined) await ctx.drivers.blockStorage.putTarget(targetOf(ctx, group))
      },
    },
    {
      name: 'record',
      record: async (ctx, { groupExtId, body }) => {
        const next = await groupAfter(ctx, await rowWithId(ctx.store, VolumeGroup, groupExtId), body)
        await ctx.store.replace(VolumeGroup, next)
      },
    },
  ],
})

/** @throws ApiError 400, 409 when other fields or attachments forbid the change */
async function groupAfter(ctx: Reading, group: Group, body: GroupBody): Promise<Group> {
  const { access, faults } = accessAfter(body, group)
  const { naming, faults: namingFaults } = namingAfter(group.extId, body, group)
  const claims = await claimsOn(ctx.store, 'VolumeGroup', group.extId)
  refuseAll([...faults, ...namingFaults, ...(await clientFaults(ctx, group, { ...access }, body, claims))])
  const { iscsiFeatures: _, targetPrefix: __, ...merged } = sparselyUpdated(group, body, ['storageFeatures'])
  const next: Group = { ...merged, ...access, ...naming }
  refuseAll(attachmentRefusals(group, next, claims))
  if (next.shouldLoadBalanceVmAttachments === true && group.shouldLoadBalanceVmAttachments !== true) {
    for (const claim of claims) if (!isExternal(claim)) await requireRoomToBalance(ctx.store, group, claim)
  }
  return next
}

/** A client with CHAP needs CHAP on the group too, with a different secret. */
async function clientFaults(
  ctx: Reading,
  group: Group,
  access: Access,
  body: GroupBody,
  claims: readonly Attachment[],
): Promise<ApiError[]> {
  const secret = body.iscsiFeatures?.targetSecret ?? targetSecretOf(ctx, group)
  const faults: ApiError[] = []
  for (const { iscsiClientExtId } of claims) {
    const client = iscsiClientExtId === undefined ? undefined : await ctx.store.pending(IscsiClient, iscsiClientExtId)
    if (client?.enabledAuthentications !== 'CHAP') continue
    const called = `the iSCSI client "${client.iscsiInitiatorName ?? client.extId}"`
    if (!usesChap(access)) faults.push(invalid('enabledAuthentications', `expected CHAP, which ${called} uses`))
    else if (secret === clientSecretOf(ctx, client)) {
      faults.push(invalid('iscsiFeatures/targetSecret', `expected another secret than that of ${called}`))
    }
  }
  return faults
}

function attachmentRefusals(group: Group, next: Group, claims: readonly Attachment[]): ApiError[] {
  const external = claims.filter(isExternal)
  const { name } = group
  const refusals: ApiError[] = []
  if (next.sharingStatus !== 'SHARED' && claims.length > 1) {
    refusals.push(new ApiError('VOLUME_GROUP_HAS_SEVERAL_ATTACHMENTS', { name, count: claims.length }))
  }
  if (next.shouldLoadBalanceVmAttachments === true && external.length > 0) {
    refusals.push(new ApiError('LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS', { name }))
  }
  if (usesChap(next) && claims.some((claim) => consumerOf(claim) === 'nvmfClient')) {
    const reason = 'its clients do not speak CHAP'
    refusals.push(new ApiError('PROTOCOL_MISMATCH', { name, protocol: 'NVMe-TCP', reason }))
  }
  if (next.targetName !== group.targetName && external.length > 0) {
    refusals.push(new ApiError('VOLUME_GROUP_ATTACHED', { name, users: `${external.length} external clients` }))
  }
  return refusals
}

/** Early check only: of two concurrent updates to one name the later task fails when it records the name. */
async function requireFreeName(store: Reader, group: Group, { name }: GroupBody): Promise<void> {
  if (name === undefined || name === group.name) return
  const other = await store.findOne(VolumeGroup, { clusterReference: group.clusterReference, name })
  if (other !== undefined) throw new ApiError('VOLUME_GROUP_NAME_EXISTS', { fields: 'clusterReference and name' })
}
