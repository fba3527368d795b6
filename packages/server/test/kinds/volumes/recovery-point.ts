/** Requests by which suites that cover every kind revert volume groups. */
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { named } from '../../support/field-bases.ts'
import { aDisk, aGroup, aRecoveryPoint, GiB, groups, postGroup, send, succeeded } from '../../support/volumes.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

/** A revert of a group that has not changed since its recovery point. */
export const aRevert: FieldBase = async (app) => {
  const group = await aGroup(app, { disks: [{ diskSizeBytes: GiB }] })
  const volumeGroupRecoveryPointExtId = await aRecoveryPoint(app, group.extId)
  return { path: `${groups}/${group.extId}/$actions/revert`, body: { volumeGroupRecoveryPointExtId } }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  /** One disk has grown since the recovery point, one has gone, and one is new. */
  'volumes.revert-volume-group': async (app) => {
    const { path, body } = await revertible(app)
    return { method: 'POST', path, body }
  },
}

/** @returns the request that reverts a group whose disks have changed since its recovery point */
export async function revertible(app: Parameters<FieldBase>[0]) {
  const task = await succeeded(
    app,
    postGroup(app, { name: named(), disks: [{ diskSizeBytes: GiB }, { diskSizeBytes: 2 * GiB }] }),
  )
  const [{ extId }, grown, gone] = task.entitiesAffected
  const volumeGroupRecoveryPointExtId = await aRecoveryPoint(app, extId)
  const disk = `${groups}/${extId}/disks/${grown.extId}`
  const { etag } = await app.call('GET', disk)
  await succeeded(app, send(app, 'PUT', disk, { body: { diskSizeBytes: 4 * GiB }, ifMatch: etag as string }))
  await succeeded(app, send(app, 'DELETE', `${groups}/${extId}/disks/${gone.extId}`))
  const { extId: added } = await aDisk(app, extId, { diskSizeBytes: 3 * GiB })
  const ids = {
    group: extId as string,
    grown: grown.extId as string,
    gone: gone.extId as string,
    added: added as string,
  }
  return { path: `${groups}/${extId}/$actions/revert`, body: { volumeGroupRecoveryPointExtId }, ids }
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'blockStorage.images': async ({ all }) =>
    new Set(
      (await all(VolumeGroupRecoveryPoint)).flatMap(({ disks }) => disks.map(({ imageExtId }: any) => imageExtId)),
    ),
}
