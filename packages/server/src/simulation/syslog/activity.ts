/** Audit records and tasks in the logs of the clusters concerned; the manager's own cluster logs all. Source: clustermgmt.md 1.11. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Task } from '@hyperplane/contract/platform/task'
import type { pino } from 'pino'
import { AuditRecord } from '../../core/records.ts'
import type { SimulatedWorld } from '../../drivers/simulated/world.ts'
import type { LogLine, Severity } from '../../drivers/syslog.ts'
import type { Store } from '../../store/store.ts'
import { clustersOfTarget } from './audited-cluster.ts'

interface Options {
  readonly store: Store
  readonly world: SimulatedWorld
  readonly log: pino.Logger
  /** Without any receiver nothing is read. */
  readonly isNeeded: () => boolean
}

type Audited = EntityOf<typeof AuditRecord>

export interface Activity {
  /** For changed servers: logging begins when one needs lines, and ends when none does. */
  readonly look: () => void
  readonly stop: () => Promise<void>
}

export function startActivity({ store, world, log, isNeeded }: Options): Activity {
  const audit = new Tail(store, AuditRecord)
  const started = new Tail(store, Task)
  const running = new Set<string>()
  let managers: readonly string[] = []
  let reading: Promise<void> | undefined
  let isStale = false
  let isEnded = false

  const write = (clusterExtIds: readonly string[], lines: readonly LogLine[]): void => {
    for (const clusterExtId of new Set([...clusterExtIds, ...managers]))
      for (const line of lines) world.log.write(clusterExtId, line)
  }

  async function readAll(): Promise<void> {
    if (!isNeeded()) {
      for (const tail of [audit, started]) tail.forget()
      running.clear()
      return
    }
    const clusters = await store.find(Cluster)
    managers = clusters.flatMap(({ extId, config }) =>
      config?.clusterFunction?.includes('PRISM_CENTRAL') === true ? extId : [],
    )
    for (const record of await audit.newer()) write(await clustersOf(store, record), auditLines(record))
    for (const task of await started.newer()) {
      running.add(task.extId)
      write(task.clusterExtIds ?? [], [taskLine(task, 'started')])
    }
    for (const task of await store.getMany(Task, [...running])) {
      const ended = endings[task.status as string]
      if (ended === undefined) continue
      running.delete(task.extId)
      write(task.clusterExtIds ?? [], [taskLine(task, ended.word, ended.severity)])
    }
  }

  async function readUntilFresh(): Promise<void> {
    while (isStale && !isEnded) {
      isStale = false
      await readAll()
    }
  }

  function changed(): void {
    isStale = true
    reading ??= readUntilFresh()
      .catch((error: unknown) => log.error({ err: error }, 'the activity of clusters could not be logged'))
      .finally(() => (reading = undefined))
  }

  const endWatch = store.watch([AuditRecord, Task], changed)
  changed()
  return {
    look: changed,
    async stop() {
      isEnded = true
      endWatch()
      await reading
    },
  }
}

/** Rows of a kind that were inserted since the last look. */
class Tail<R extends AnyResource> {
  readonly #store: Store
  readonly #kind: R
  /** '': there was no row. */
  #last: string | undefined

  constructor(store: Store, kind: R) {
    this.#store = store
    this.#kind = kind
  }

  /** Rows before the next look are skipped. */
  forget(): void {
    this.#last = undefined
  }

  async newer(): Promise<readonly EntityOf<R>[]> {
    for (let limit = 50; ; limit *= 10) {
      const newest = await this.#store.find(this.#kind, {
        newestFirst: true,
        limit: this.#last === undefined ? 1 : limit,
      })
      const known = this.#last === undefined ? 0 : newest.findIndex(({ extId }) => extId === this.#last)
      if (known < 0 && newest.length === limit && limit < 50_000) continue
      this.#last = newest[0]?.extId ?? ''
      return newest.slice(0, known < 0 ? newest.length : known).reverse()
    }
  }
}

async function clustersOf(store: Store, record: Audited): Promise<readonly string[]> {
  const task = record.task === undefined ? undefined : await store.get(Task, record.task)
  return task?.clusterExtIds ?? (await clustersOfTarget(store, record))
}

/** API_AUDIT has each request, AUDIT those with an effect. */
function auditLines(record: Audited): LogLine[] {
  const { operation, status, identityName, identity, credential, address, target, task, requestId, code } = record
  const line: Omit<LogLine, 'module'> = {
    severity: severityOf(status),
    time: Date.parse(record.time),
    id: operation.slice(operation.indexOf('.') + 1),
    text: `${identityName ?? 'An unknown caller'} called ${operation}: ${status}${code === undefined ? '' : ` ${code}`}.`,
    parameters: { operation, status, code, identity, credential, address, target, task, requestId },
  }
  const hasEffect = status < 400 && record.dryRun === undefined
  return ['API_AUDIT', ...(hasEffect ? ['AUDIT'] : [])].map((module) => ({ module, ...line }))
}

function severityOf(status: number): Severity {
  if (status >= 500) return 'ERROR'
  return status >= 400 ? 'WARNING' : 'INFO'
}

const endings: Readonly<{ [status: string]: { readonly word: string; readonly severity: Severity } }> = {
  SUCCEEDED: { word: 'succeeded', severity: 'INFO' },
  FAILED: { word: 'failed', severity: 'ERROR' },
  CANCELED: { word: 'was cancelled', severity: 'WARNING' },
}

/** The module that does the work of a namespace. */
const modules: Readonly<{ [appName: string]: string }> = {
  clustermgmt: 'GENESIS',
  networking: 'ACROPOLIS',
  storage: 'STARGATE',
  vmm: 'ACROPOLIS',
  volumes: 'STARGATE',
}

function taskLine(task: Task, word: string, severity: Severity = 'INFO'): LogLine {
  const { operation = '', operationDescription = operation, appName = '', entitiesAffected = [] } = task
  const [entity] = entitiesAffected
  const of = entity?.name === undefined ? '' : ` of ${entity.name}`
  const reason = word === 'started' ? undefined : task.errorMessages?.[0]?.message
  const time = word === 'started' ? task.createdTime : task.completedTime
  return {
    module: modules[appName] ?? 'PRISM',
    severity,
    time: Date.parse(time ?? task.lastUpdatedTime ?? ''),
    id: operation,
    text: `${operationDescription}${of} ${word}${reason === undefined ? '.' : `: ${reason}`}`,
    parameters: { task: task.extId, entity: entity?.extId, owner: task.ownedBy?.name },
  }
}
