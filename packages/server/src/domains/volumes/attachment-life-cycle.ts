/** The request claims the attachment; a task connects or disconnects the consumer. Source: behaviour volumes-storage.md 1.1. */
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import type { TaskStarted } from '../../core/handlers.ts'
import {
  type Attachment,
  type Group,
  requireAttached,
  requireAttachment,
  requireClaim,
  requireGroupAttachable,
  touchEnds,
} from '../block-volumes/attachments.ts'
import { requireUsable } from '../block-volumes/groups.ts'
import {
  type AffectedEntity,
  affected,
  defineTask,
  type RecordContext,
  type StepContext,
  type WriteContext,
} from '../context.ts'

type Act = (ctx: StepContext, attachment: Attachment) => Promise<unknown>
type Write = (ctx: RecordContext, attachment: Attachment) => Promise<void>

export interface OfAttachment {
  readonly attachment: Attachment
}

interface Steps {
  /** `vm` in `volumes.attach-vm`. */
  readonly name: string
  readonly verbs: readonly [connect: string, disconnect: string]
  readonly check?: Act
  readonly connect: Act
  readonly disconnect: Act
  readonly disconnected?: (ctx: RecordContext, output: unknown) => void
  readonly attached: Write
  readonly detached: Write
  /** Removes the claim of a failed attach. */
  readonly abandoned: Write
}

interface ConsumerKind<C> extends Steps {
  readonly title: string
  readonly affected: (consumer: C) => AffectedEntity
  readonly called: (consumer: C) => string
}

export function attachmentLifeCycle<C extends { readonly extId: string }>(kind: ConsumerKind<C>) {
  const attachTask = attachTaskOf(kind)
  const detachTask = detachTaskOf(kind)
  const about = (group: Group, consumer: C) => ({
    affected: [kind.affected(consumer), affected(VolumeGroup, group)],
    clusterExtIds: [group.clusterReference],
  })
  return {
    tasks: [attachTask, detachTask],

    async attach(ctx: WriteContext, group: Group, consumer: C, claim: () => Promise<Attachment>): Promise<TaskStarted> {
      await requireUsable(ctx, group)
      const attachment = await claim()
      const description = `Volume group attach to ${kind.title}`
      const options = { operation: 'VolumeGroupAttachExternal', description, ...about(group, consumer) }
      return ctx.startTask(attachTask, { attachment }, options)
    },

    /** @param find runs after the check of the group @param check compares the body with the attachment */
    async detach(
      ctx: WriteContext,
      group: Group,
      find: () => Promise<C>,
      check?: (attachment: Attachment) => void,
    ): Promise<TaskStarted> {
      await requireUsable(ctx, group)
      const consumer = await find()
      const attachment = await requireAttachment(ctx.store, group, consumer, kind.called(consumer))
      check?.(attachment)
      await touchEnds(ctx.store, attachment)
      const description = `Volume group detach from ${kind.title}`
      const options = { operation: 'VolumeGroupDetachExternal', description, ...about(group, consumer) }
      return ctx.startTask(detachTask, { attachment }, options)
    },
  }
}

const attachTaskOf = (kind: Steps) =>
  defineTask<OfAttachment>({
    name: `volumes.attach-${kind.name}`,
    cancelableUntil: 'record',
    steps: [
      {
        name: 'check',
        progress: 10,
        run: async (ctx, { attachment }) => {
          await kind.check?.(ctx, attachment)
          await requireClaim(ctx.store, attachment.extId)
          await requireGroupAttachable(ctx.store, attachment)
        },
        // No undo: a check changes nothing.
      },
      {
        name: kind.verbs[0],
        progress: 80,
        seconds: [1, 3],
        run: (ctx, { attachment }) => kind.connect(ctx, attachment),
        undo: async (ctx, { attachment }) => void (await kind.disconnect(ctx, attachment)),
      },
      { name: 'record', record: (ctx, { attachment }) => kind.attached(ctx, attachment) },
    ],
    onUndone: (ctx, { attachment }) => kind.abandoned(ctx, attachment),
  })

const detachTaskOf = (kind: Steps) =>
  defineTask<OfAttachment>({
    name: `volumes.detach-${kind.name}`,
    steps: [
      {
        name: 'check',
        progress: 10,
        run: (ctx, { attachment }) => requireAttached(ctx.store, attachment),
        // No undo: a check changes nothing.
      },
      {
        name: kind.verbs[1],
        progress: 80,
        seconds: [1, 3],
        run: (ctx, { attachment }) => kind.disconnect(ctx, attachment),
        record: async (ctx, _, output) => kind.disconnected?.(ctx, output),
        undo: async (ctx, { attachment }) => void (await kind.connect(ctx, attachment)),
      },
      { name: 'record', record: (ctx, { attachment }) => kind.detached(ctx, attachment) },
    ],
  })
