/**
 * What the control interface keeps and does for one world, apart from the world's own store: a fork does not take it along,
 * and a reset drops it. Its store is made when something is first kept.
 */
import { existsSync } from 'node:fs'
import { FaultRule } from '@hyperplane/contract/control/fault'
import { Refusal } from '../core/api-error.ts'
import { RefusedRequest } from '../core/pipeline/request.ts'
import { removeStore } from '../data-folder/store-files.ts'
import type { Table } from '../store/tables.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { WorldHooks } from '../worlds/world-hooks.ts'
import type { WorldDriver } from './context.ts'
import { type FaultsOfWorld, faultsOfWorld } from './faults/faults-of-world.ts'
import { RuleBook } from './faults/rule-book.ts'
import type { Journal } from './journal/journals.ts'
import { createRecorder } from './journal/recorder.ts'
import { worldDomains, worldKinds } from './operations/index.ts'
import { keptJournalSettings } from './operations/journal.ts'
import { type ControlPipeline, type ControlShared, controlStoreFile, openControlPipeline } from './pipeline.ts'
import { unsettled, usable } from './usable.ts'

export interface WorldControlOptions {
  readonly shared: ControlShared
  readonly world: HostedWorld
  readonly tables: ReadonlyMap<string, Table>
  /** Where clients reach the world. */
  readonly origin: () => string
  /** Of the product. */
  readonly version: string
}

export function createWorldControl(options: WorldControlOptions): WorldHooks {
  const { shared, world, tables, version } = options
  const folder = world.config.data
  const file = controlStoreFile(folder)
  let pipeline: Promise<ControlPipeline> | undefined
  let isClosed = false
  let clearing: Promise<void> | undefined
  /** How often the world was closed, or what is kept for it. */
  let closings = 0
  /** Refuse those who wait for the world, inside a transaction that is waited for before the world begins anew. */
  const waiting = new Set<() => void>()
  let journal: Journal | undefined = shared.journals.of(folder)
  /** What is kept for the world may say that nobody records, or that more is kept than usual. */
  let areSettingsKnown = !existsSync(file)
  let faults: FaultsOfWorld | undefined
  const rules = new RuleBook({
    log: shared.log,
    async keep(counts) {
      const { store } = (await pipeline) ?? {}
      await store?.transaction(async (transaction) => {
        for (const { extId, ...kept } of counts)
          if ((await transaction.get(FaultRule, extId)) !== undefined) await transaction.observe(FaultRule, extId, kept)
      })
    },
  })

  const driver: WorldDriver = {
    world,
    version,
    get origin() {
      return options.origin()
    },
    async instance() {
      const inVain = Promise.withResolvers<never>()
      const giveUp = () => inVain.reject(unsettled(world.name))
      if (clearing !== undefined) giveUp()
      waiting.add(giveUp)
      try {
        return await usable(world.name, () => Promise.race([inVain.promise, world.instance()]))
      } finally {
        waiting.delete(giveUp)
      }
    },
    faults: rules,
    get journal() {
      if (journal === undefined) throw unsettled(world.name)
      return journal
    },
  }

  function open(): Promise<ControlPipeline> {
    if (isClosed) return Promise.reject(unsettled(world.name))
    // What does not open is tried again when it is asked for again.
    pipeline ??= begin().catch((error) => {
      pipeline = undefined
      throw error
    })
    return pipeline
  }

  async function begin(): Promise<ControlPipeline> {
    const opened = openControlPipeline({
      shared,
      file,
      tables,
      kinds: worldKinds,
      domains: worldDomains,
      drivers: driver,
      tagsFrom: () => world,
    })
    try {
      journal?.configure(await keptJournalSettings(opened.store))
      areSettingsKnown = true
      rules.load(await opened.store.find(FaultRule))
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  async function shut(how: 'close' | 'end'): Promise<void> {
    await rules.written()
    const open = pipeline
    pipeline = undefined
    await (await open?.catch(() => undefined))?.[how]()
  }

  async function clear(): Promise<void> {
    await shut('end')
    rules.load([])
    removeStore(file)
    try {
      await shared.journals.remove(folder)
    } finally {
      // The one before takes no calls any more, whatever became of its file.
      journal = shared.journals.of(folder)
      areSettingsKnown = true
    }
  }

  return {
    get isKept() {
      return pipeline !== undefined || existsSync(file)
    },
    async dispatch(request) {
      await clearing?.catch(() => undefined)
      const before = closings
      try {
        return await (await open()).dispatch(request)
      } catch (error) {
        const isRefusal = error instanceof RefusedRequest && error.refusal instanceof Refusal
        if (isRefusal || closings === before) throw error
        throw new RefusedRequest(unsettled(world.name), undefined, undefined, {})
      }
    },
    recorder: createRecorder({
      ...shared.recording,
      journal: () => journal,
      areSettingsKnown: () => areSettingsKnown,
      now: world.now,
    }),
    async opening() {
      if (existsSync(file)) await open()
    },
    faultsOf: (of) => (faults = faultsOfWorld(rules, of)),
    release() {
      closings++
      faults?.release()
    },
    resume: () => faults?.resume(),
    async clear() {
      closings++
      clearing = clear().finally(() => {
        clearing = undefined
      })
      for (const giveUp of waiting) giveUp()
      return clearing
    },
    async close() {
      closings++
      isClosed = true
      await shut('close')
      journal = undefined
      await shared.journals.leave(folder)
    },
  }
}
