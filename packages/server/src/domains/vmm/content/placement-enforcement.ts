/** Copies and removes images as their placement policies ask. The system owns these tasks. Source: behaviour vmm.md 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Task } from '@hyperplane/contract/platform/task'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { ImagePlacementPolicy } from '@hyperplane/contract/vmm/content/image-placement-policy'
import { derivedId } from '../../../core/ids/named-id.ts'
import { pathOf } from '../../../core/standard.ts'
import { unfinished } from '../../../core/tasks/task-row.ts'
import { startingTasks } from '../../../core/time/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { and, anyOf, equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type Schedule, type ScheduleContext, type StepContext, together } from '../../context.ts'
import { requireImageRoom } from './image/image-space.ts'
import {
  type ActivePolicy,
  activePolicies,
  extraCopies,
  lackingCopies,
  type Placement,
  placementOf,
} from './placement.ts'
import { nextRetry, notBeforeOf } from './placement-retry.ts'
import { transferTo } from './rate-limits.ts'

type ImageEntity = EntityOf<typeof Image>
type Evaluating = { readonly store: Reader; readonly drivers: Drivers }

interface PlacementChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

interface Placing {
  readonly imageExtId: string
  readonly cause: string
}

interface Misplaced {
  readonly image: ImageEntity
  readonly policies: readonly ActivePolicy[]
  readonly clusterExtIds: readonly string[]
  readonly cause: string
}

const operation = 'kImagePlacementEnforce'
/** A share of the 64 task slots, because a slow transfer occupies its slot for hours. */
const maximumAtOnce = 16
const waitMillis = 60_000

export const placeImage = defineTask<Placing>({
  name: 'vmm.place-image',
  cancelableUntil: 'store',
  pointOfNoReturn: 'remove copies',
  steps: [
    {
      name: 'plan',
      progress: 5,
      // Policies and image may have changed while the task was queued.
      record: async (ctx, { imageExtId }): Promise<{ keep: readonly string[] }> => {
        const image = await ctx.store.get(Image, imageExtId)
        if (image === undefined) return { keep: [] }
        return { keep: (await changeFor(ctx, await activePolicies(ctx.store), image)).add }
      },
    },
    {
      name: 'add copies',
      progress: 85,
      run: async (ctx, { imageExtId }) => {
        const image = await ctx.store.get(Image, imageExtId)
        const from = image?.clusterLocationExtIds?.find((extId) => ctx.drivers.hardware.isReachable(extId))
        const add = listIn(ctx, 'plan')
        if (image === undefined || from === undefined || add.length === 0) return
        await requireImageRoom(ctx, add, image.sizeBytes ?? 0)
        for (const [index, clusterExtId] of add.entries()) {
          const report = (share: number): Promise<void> => ctx.progress(5 + (80 * (index + share)) / add.length)
          const transfer = transferTo(ctx, clusterExtId, report)
          await ctx.drivers.contentSource.copy(
            { imageExtId, clusterExtId: from },
            { imageExtId, clusterExtId },
            transfer,
          )
        }
        return add
      },
      undo: async (ctx, { imageExtId }) => {
        const { clusterLocationExtIds = [] } = (await ctx.store.get(Image, imageExtId)) ?? {}
        for (const clusterExtId of listIn(ctx, 'plan')) {
          if (!clusterLocationExtIds.includes(clusterExtId))
            await ctx.drivers.contentSource.remove({ imageExtId, clusterExtId })
        }
      },
    },
    {
      name: 'store',
      progress: 90,
      record: async (ctx, { imageExtId }): Promise<{ keep: readonly string[] }> => {
        const image = await ctx.store.get(Image, imageExtId)
        if (image === undefined) return { keep: [] }
        const added = listIn(ctx, 'add copies')
        await requireImageRoom(ctx, added, image.sizeBytes ?? 0)
        const locations = [...new Set([...(image.clusterLocationExtIds ?? []), ...added])]
        const held = { ...image, clusterLocationExtIds: locations }
        const remove = await removable(ctx, held, placementOf(await activePolicies(ctx.store), image.categoryExtIds))
        const clusterLocationExtIds = locations.filter((extId) => !remove.includes(extId))
        if (added.length + remove.length > 0) await ctx.store.update(Image, imageExtId, { clusterLocationExtIds })
        if (image.placementRetry !== undefined)
          await ctx.store.observe(Image, imageExtId, { placementRetry: undefined })
        return { keep: remove }
      },
    },
    {
      name: 'remove copies',
      run: async (ctx, { imageExtId }) => {
        for (const clusterExtId of listIn(ctx, 'store'))
          await ctx.drivers.contentSource.remove({ imageExtId, clusterExtId })
      },
    },
  ],
  onUndone: async (ctx, { imageExtId, cause }) => {
    const image = await ctx.store.get(Image, imageExtId)
    if (image === undefined) return
    await ctx.store.observe(Image, imageExtId, { placementRetry: nextRetry(image.placementRetry, cause, ctx.clock) })
  },
})

const listIn = ({ outputs }: Pick<StepContext, 'outputs'>, step: string): readonly string[] =>
  (outputs[step] as readonly string[] | undefined) ?? []

async function changeFor(
  ctx: Evaluating,
  active: readonly ActivePolicy[],
  image: ImageEntity,
): Promise<PlacementChange> {
  const placement = placementOf(active, image.categoryExtIds)
  const add = lackingCopies(placement, image.clusterLocationExtIds ?? [], isReachableIn(ctx))
  const clusterLocationExtIds = [...(image.clusterLocationExtIds ?? []), ...add]
  return { add, remove: await removable(ctx, { ...image, clusterLocationExtIds }, placement) }
}

async function removable(ctx: Evaluating, image: ImageEntity, placement: Placement): Promise<readonly string[]> {
  const extra = extraCopies(placement, image.clusterLocationExtIds ?? [], isReachableIn(ctx))
  // A VM that is being created from the image may read any of its copies.
  const isRead = extra.length > 0 && (await ctx.store.referrers(Image.kind, image.extId, 1)).length > 0
  return isRead ? [] : extra
}

const isReachableIn =
  ({ drivers }: Evaluating) =>
  (clusterExtId: string): boolean =>
    drivers.hardware.isReachable(clusterExtId)

/** Unfinished tasks that enforce placement policies; `policyExtId`: only those that enforce this policy. */
export async function placementTasks(store: Reader, policyExtId?: string): Promise<readonly EntityOf<typeof Task>[]> {
  const filter = and(anyOf(pathOf(Task, 'status'), unfinished), equals(pathOf(Task, 'operation'), operation))
  const tasks = await store.find(Task, { filter })
  const concerns = ({ entitiesAffected = [] }: EntityOf<typeof Task>): boolean =>
    policyExtId === undefined || entitiesAffected.some(({ extId }) => extId === policyExtId)
  return tasks.filter(concerns)
}

export const enforceImagePlacement: Schedule = {
  name: 'vmm.enforce-image-placement',
  everySeconds: 5,
  watch: ({ drivers, store }, changed) =>
    together(drivers.hardware.watch(changed), store.watch([Image, ImagePlacementPolicy, Cluster], changed)),
  async run(ctx) {
    const active = await activePolicies(ctx.store)
    if (active.length === 0) return
    let free = maximumAtOnce - (await placementTasks(ctx.store)).length
    const categories = [...new Set(active.flatMap(({ images }) => images.categoryExtIds))]
    const images = await ctx.store.find(Image, { filter: anyOf(pathOf(Image, 'categoryExtIds'), categories) })
    const misplaced: Misplaced[] = []
    const due: number[] = []
    for (const image of images) {
      const { add, remove } = await changeFor(ctx, active, image)
      if (add.length + remove.length === 0) continue
      const { policies } = placementOf(active, image.categoryExtIds)
      const clusterExtIds = [...add, ...remove]
      const cause = derivedId(
        'placement',
        ...policies.flatMap(({ extId, changedAt }) => [extId, changedAt]),
        ...clusterExtIds,
      )
      const notBefore = notBeforeOf(image.placementRetry, cause) ?? 0
      if (notBefore <= ctx.clock.now()) misplaced.push({ image, policies, clusterExtIds, cause })
      due.push(Math.max(notBefore, ctx.clock.now() + waitMillis))
    }
    for (const each of inTurn(misplaced, ctx.clock.now())) {
      if (free <= 0) break
      if (ctx.runner.queueLength(each.image.extId) > 0) continue
      await startPlacing(ctx, each)
      free--
    }
    // A placement may fail: then a later run tries again.
    if (due.length > 0) return Math.min(...due)
  },
}

/** Each retry begins with other images, so that failing placements do not block all others. */
function inTurn<T>(misplaced: readonly T[], now: number): readonly T[] {
  const first = (Math.floor(now / waitMillis) * maximumAtOnce) % Math.max(1, misplaced.length)
  return [...misplaced.slice(first), ...misplaced.slice(0, first)]
}

const startPlacing = (
  ctx: ScheduleContext,
  { image: { extId, name }, policies, clusterExtIds, cause }: Misplaced,
): Promise<void> =>
  startingTasks(ctx, async (_, startTask) => {
    const policyRel = ImagePlacementPolicy.rel
    await startTask(
      placeImage,
      { imageExtId: extId, cause },
      {
        operation,
        description: 'Enforce image placement',
        affected: [
          { extId, name, rel: Image.rel },
          ...policies.map((policy) => ({ extId: policy.extId, name: policy.name, rel: policyRel })),
        ],
        locks: [extId],
        clusterExtIds,
        background: true,
      },
    )
  })
