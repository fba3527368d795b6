/** One open store with its clock, drivers, tasks and pipeline. A restore replaces the instance. */

import { User } from '@hyperplane/contract/iam/user'
import type { pino } from 'pino'
import { seedId } from '../core/ids/named-id.ts'
import { createRequestIds } from '../core/ids/request-ids.ts'
import type { Dispatch } from '../core/pipeline/request.ts'
import type { AccessControl, Authenticator } from '../core/ports.ts'
import type { TaskRunner } from '../core/tasks/runner.ts'
import type { WorldClock } from '../core/time/clock.ts'
import { useStoredCertificate } from '../domains/clustermgmt/ssl-certificate/holder.ts'
import { syncSystemRoles } from '../domains/iam/catalogue/system-roles.ts'
import type { CertificateTrust } from '../domains/iam/certificates/trust.ts'
import type { Consoles } from '../domains/vmm/vm/console.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { createFlowCollectors } from '../drivers/flow-collectors.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { connectSyslog } from '../drivers/syslog/index.ts'
import { startFlowExports } from '../simulation/flow-exports.ts'
import { startObservations } from '../simulation/observations.ts'
import { startSyslog } from '../simulation/syslog/forwarding.ts'
import { startWorldEvents, type WorldEvents } from '../simulation/world-events.ts'
import { diskFault } from '../store/disk-fault.ts'
import type { Store } from '../store/store.ts'
import { type AssembledInstance, assembleInstance } from './assemble.ts'
import { prepareStart } from './first-start.ts'
import type { InstanceOptions } from './options.ts'
import { type InstanceState, openState } from './state.ts'

/** @throws StartRefusal, StoreRefusal, and nothing is left open */
export async function openInstance(opening: InstanceOptions): Promise<Instance> {
  // On failure everything opened so far is closed in reverse order.
  await using opened = new AsyncDisposableStack()
  const state = await openState(opening, opened)
  const assembled = assembleInstance(opening, state)
  const { runner } = assembled
  opened.defer(() => runner.stop(stopMillis))
  const banner = await prepareStart(opening, state, assembled)
  const { store, clock, ids, world } = state
  await syncSystemRoles(store, state.tenantId)
  await useStoredCertificate({ ...assembled.world, store, log: opening.log })
  await runner.recover()
  const stopSchedules = assembled.startSchedules()
  opened.defer(stopSchedules)
  const { drivers } = assembled
  opened.defer(() => drivers.traps.close())
  const isInstant = opening.config.durations === 'instant'
  const stopObservations = startObservations({ world, clock, drivers, isInstant, log: opening.log })
  opened.defer(stopObservations)
  const guard = assembled.world.services.receiverGuard
  const collectors = createFlowCollectors(guard, () => state.machineClock.now())
  const stopFlowExports = startFlowExports({ world, clock, collectors, real: state.machineClock, log: opening.log })
  opened.defer(stopFlowExports)
  const transports = { refusalOf: guard.refusalOf, connect: connectSyslog }
  const stopSyslog = startSyslog({ store, world, clock, transports, log: opening.log })
  opened.defer(stopSyslog)
  const events = startWorldEvents({ store, world, clock, drivers, ids: ids.of('events'), log: opening.log })
  opened.move()
  return new Instance(state, assembled, {
    banner,
    events,
    stopSchedules,
    stopObservations,
    stopFlowExports,
    stopSyslog,
    log: opening.log,
  })
}

/** Until tasks reach a point from which they can resume. */
const stopMillis = 4000

interface Running extends Pick<Instance, 'banner' | 'events'> {
  readonly stopSchedules: () => void
  readonly stopObservations: () => Promise<void>
  readonly stopFlowExports: () => Promise<void>
  readonly stopSyslog: () => Promise<void>
  readonly log: pino.Logger
}

export class Instance {
  /** For the operator at the first start, such as the generated password. */
  readonly banner: readonly string[]
  readonly dispatch: Dispatch
  readonly makeRequestId: () => string
  readonly store: Store
  readonly clock: WorldClock
  readonly runner: TaskRunner<Drivers>
  readonly drivers: Drivers
  readonly world: SimulatedWorld
  readonly events: WorldEvents
  readonly clientCertificates: CertificateTrust
  readonly consoles: Consoles
  readonly authenticator: Authenticator
  readonly access: AccessControl
  readonly #notesOfClock: InstanceState['notesOfClock']
  readonly #stopSchedules: () => void
  readonly #stopObservations: () => Promise<void>
  readonly #stopFlowExports: () => Promise<void>
  readonly #stopSyslog: () => Promise<void>
  readonly #log: pino.Logger

  constructor(state: InstanceState, assembled: AssembledInstance, running: Running) {
    this.banner = running.banner
    this.dispatch = assembled.dispatch
    this.makeRequestId = createRequestIds(state.ids.of('requests'))
    this.store = state.store
    this.clock = state.clock
    this.runner = assembled.runner
    this.drivers = assembled.drivers
    this.world = state.world
    this.events = running.events
    this.clientCertificates = assembled.clientCertificates
    this.consoles = assembled.consoles
    this.authenticator = assembled.authenticator
    this.access = assembled.access
    this.#notesOfClock = state.notesOfClock
    this.#stopSchedules = running.stopSchedules
    this.#stopObservations = running.stopObservations
    this.#stopFlowExports = running.stopFlowExports
    this.#stopSyslog = running.stopSyslog
    this.#log = running.log
  }

  /** undefined: no password, or the user was removed. */
  async adminPasswordHash(): Promise<string | undefined> {
    return (await this.store.get(User, seedId('user/admin')))?.passwordHash
  }

  noteClock(): void {
    const notes = this.#notesOfClock()
    if (notes !== undefined) this.store.setMetas(notes)
  }

  async close(): Promise<void> {
    this.#stopSchedules()
    this.consoles.close()
    await Promise.all([this.runner.stop(stopMillis), this.events.close()])
    await this.#stopObservations()
    await this.#stopFlowExports()
    await this.#stopSyslog()
    this.drivers.traps.close()
    this.clock.close()
    try {
      this.noteClock()
      await this.store.transaction(async () => undefined)
    } catch (error) {
      // Answered requests are durable; without this note the clock continues from an earlier one.
      if (diskFault(error) === undefined) throw error
      this.#log.warn({ err: error }, 'the time at which a world was closed cannot be stored')
    } finally {
      await this.store.close()
    }
  }
}
