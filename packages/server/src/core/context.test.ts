import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Operation } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { parentOf } from './context.ts'
import type { Handlers, Prepares } from './handlers.ts'

const operations = [...contract, control].flatMap((namespace) => namespace.operations)
const updateDisk = operations.find(({ key }) => key === 'volumes.updateVolumeDiskById') as Operation

/** Operations that delete a collection name its owner, so their target has no type. */
const deletesCollection = ({ verb, path }: Operation): boolean => verb === 'remove' && !path.endsWith('}')

test('every operation on a stored kind names an entity of that kind, as the type of its target says', () => {
  for (const operation of operations) {
    const { resource, target, key, pathKinds } = operation
    if (resource === undefined || target === undefined || deletesCollection(operation)) continue
    if (resource.derived !== true && resource.singleton !== true) assert.equal(pathKinds[target], resource.kind, key)
  }
})

test('parentOf answers the entity of the declared kind, and refuses another kind', () => {
  const group = { extId: 'group' }
  const ctx = { operation: updateDisk, parents: { volumeGroupExtId: group } }
  assert.equal(parentOf(ctx, 'volumeGroupExtId', VolumeGroup), group)
  assert.throws(() => parentOf(ctx, 'volumeGroupExtId', VolumeDisk), /names the kind VolumeGroup, not VolumeDisk/)
})

/** Checked by the compiler: an `any` in a context makes each expected error disappear, which is an error itself. */
type Set = typeof import('@hyperplane/contract/volumes/volume-disk').volumeDiskOperations
type Written = Handlers<unknown, Set>
export const typedHandlers: Pick<Written, 'createVolumeDisk' | 'updateVolumeDiskById'> = {
  async createVolumeDisk(ctx, { path }) {
    // @ts-expect-error a creation has no target
    void ctx.target.extId
    // @ts-expect-error its path names no disk
    void path.extId
    return { extId: path.volumeGroupExtId }
  },
  async updateVolumeDiskById(ctx, { body }) {
    const size: number | undefined = ctx.target.diskSizeBytes ?? body.diskSizeBytes
    // @ts-expect-error a disk has no such field
    void ctx.target.powerState
    // @ts-expect-error the target is no parent
    void ctx.parents.extId
    return { extId: `${ctx.target.extId}/${size}` }
  },
}
export const typedPrepares: Prepares<unknown, Set> = {
  // @ts-expect-error what is prepared before the transaction has no target yet
  updateVolumeDiskById: async (ctx) => ctx.target.extId,
}
