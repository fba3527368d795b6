/** Rules of faults, of every effect at every place where it can be; and events below the interface. */

import { contentFaults, directoryFaults, guestFaults, placeFaults } from '@hyperplane/contract/control/world-happening'
import fc from 'fast-check'
import { names } from '../../../src/control/faults/names.ts'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { walkRequests } from '../../kinds/collected.ts'

const { tasks, driverCalls, operations } = names()
/** Tasks that the requests of a walk start. */
const stepped = [...tasks.values()].filter(({ name }) =>
  /^(?:vmm|volumes|networking)\.|container|category|back-up|batch|profile|maintenance|disk/.test(name),
)
const moment = fc.constantFrom('BEFORE', 'AFTER')
const error = fc
  .record({
    error: fc.constantFrom('SERVICE_UNAVAILABLE', 'CONFLICT', 'BACKEND_TIMEOUT', 'ENTITY_BUSY', 'RATE_LIMIT_EXCEEDED'),
    moment,
  })
  .map(({ error, moment }) => ({
    error,
    arguments: { fault: 'A walk made it fail.', name: 'walk', taskExtId: 'none', unit: 'second', limit: '1' },
    moment,
  }))
const delay = fc
  .record({ delay: fc.constantFrom({ fixed: 'PT1S' }, { fixed: 'PT10M' }, { mean: 'PT5S' }), moment })
  .map((effect) => effect as object)

const trigger = fc.oneof(
  fc.record({ next: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ nth: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ everyNth: fc.integer({ min: 1, max: 3 }) }),
  fc.constant({ probability: 0.5, seed: 'walk' }),
  fc.constant({ always: true }),
  fc.record({ untilRemoved: fc.constant(true), afterCalls: fc.integer({ min: 0, max: 3 }) }),
)

const named = new Set(Object.keys(walkRequests))
const asked = [...operations.values()].filter(
  ({ id, mutates }) => mutates && (named.has(id) || /^(?:create|update|delete)/.test(id)),
)
const ofRequests = fc.record({
  match: fc.oneof(
    fc.constantFrom(...asked.map(({ key }) => ({ operation: key }))),
    fc.constantFrom({ kind: 'Vm' }, { kind: 'VolumeGroup' }, { namePattern: 'v*' }, { batchElement: 1 }, {}),
  ),
  trigger,
  effect: fc.oneof(
    error,
    delay,
    fc.constantFrom<object>(
      { dropConnection: 'BEFORE_COMMIT' },
      { dropConnection: 'AFTER_COMMIT' },
      { truncateAfterBytes: 10 },
      { competingWrite: true },
    ),
  ),
})

const isRetryable = fc.boolean()
const stepError = fc.tuple(error, isRetryable).map(([effect, isRetryable]) => ({ ...effect, isRetryable }) as object)
const ofSteps = fc.record({
  match: fc
    .constantFrom(...stepped.flatMap(({ name, steps }) => steps.map((step) => ({ task: name, step: step.name }))))
    .chain((taskStep) => fc.constantFrom('RUN', 'UNDO').map((phase) => ({ taskStep: { ...taskStep, phase } }))),
  trigger,
  effect: fc.oneof(stepError, delay, fc.record({ crashWorker: fc.constant(true), moment })),
})
const ofTasks = fc.record({
  match: fc.constantFrom<object>(
    { kind: 'Vm' },
    { operation: 'vmm.createVm' },
    { operation: 'volumes.createVolumeGroup' },
  ),
  trigger,
  effect: fc.constantFrom<object>({ hangAtPercentage: 0 }, { hangAtPercentage: 50 }, { ignoreCancel: true }),
})
/** Asked within transactions: while they are late the world's one writer waits, and with it the walk, which moves the clock. */
const amidTransactions: ReadonlySet<string> = new Set(['controllerState', 'observeGuests', 'usageOf'])
const calls = ['blockStorage', 'contentSource', 'hardware', 'hypervisor', 'networkFabric', 'ovaFiles'].flatMap(
  (driver) => [...(driverCalls.get(driver) ?? [])].map((method) => ({ driver, method })),
)
const matchOf = (driverCall: { readonly driver: string; readonly method: string }) => ({ driverCall })
const ofCalls = fc.oneof(
  fc.record({
    match: fc.constantFrom(...calls).map(matchOf),
    trigger,
    effect: fc.oneof(stepError, fc.constant<object>({ answerTwice: true })),
  }),
  fc.record({
    match: fc.constantFrom(...calls.filter(({ method }) => !amidTransactions.has(method))).map(matchOf),
    trigger,
    effect: delay,
  }),
)

export const rules: fc.Arbitrary<object> = fc.oneof(ofRequests, ofSteps, ofTasks, ofCalls)

const hosts = ['a', 'b', 'c', 'd'].map((letter) => seedId(`host/hp-n01-${letter}`))
const host = fc.constantFrom(...hosts)
const disk = fc.constantFrom(...[2, 3].map((index) => seedId(`disk/hp-n01-a/${index}`)))
const vm = fc.constantFrom('web-01', 'web-02', 'db-01', 'batch-01', 'desktop-01', 'vm-again')
const container = fc.constantFrom('default', 'db-gold').map((name) => seedId(`container/hp-native-01/${name}`))
const cluster = fc.constantFrom('hp-native-01', 'hp-extern-01', 'cloud-1')

const happening = (type: string, fields: Readonly<Record<string, fc.Arbitrary<unknown>>> = {}): fc.Arbitrary<object> =>
  fc.record({ type: fc.constant(type), ...fields })
const drift = (kind: string, of: string, path: string, value: unknown): fc.Arbitrary<object> =>
  fc.constant({ type: 'FACT_CHANGES', kind, of, path, value })

const happenings = fc.oneof(
  happening('HOST_FAILS', { host }),
  happening('HOST_RETURNS', { host }),
  happening('HOST_SLOWS', { host }),
  happening('HOST_AGENT_FALLS_SILENT', { host }),
  happening('BMC_FALLS_SILENT', { host }),
  happening('UPLINK_LOST', { host }),
  happening('UPLINK_FLAPS', { host, uplink: fc.constantFrom('eth0', 'eth3') }),
  happening('CLUSTER_CUT_OFF', { cluster }),
  happening('EXTERNAL_MANAGEMENT_FAILS', { cluster }),
  happening('DISK_FAILS', { disk }),
  happening('DISK_REPLACED', { disk }),
  happening('DISK_GOES_OFFLINE', { disk }),
  happening('DISK_SLOWS', { disk }),
  happening('CONTAINER_FILLS', { container }),
  happening('STORAGE_STALLS', { container }),
  happening('BGP_PEER_FALLS_SILENT', { session: fc.constantFrom('prod-tor-a', 'session-again') }),
  happening('VPN_PEER_FALLS_SILENT', { connection: fc.constantFrom('branch-1', 'connection-again') }),
  happening('REMOTE_CUT_OFF', { remote: cluster }),
  happening('REMOTE_CERTIFICATE_CHANGES', { remote: cluster }),
  happening('NETWORK_CONTROLLER_FAILS', { state: fc.constantFrom('DEGRADED', 'DOWN') }),
  happening('OBJECT_STORE_FAILS', { place: cluster, fault: fc.constantFrom(...placeFaults) }),
  happening('CONTENT_SERVER_FAILS', {
    server: fc.constant('images.example.com'),
    fault: fc.constantFrom(...contentFaults),
  }),
  happening('DIRECTORY_FAILS', { directory: fc.constant('corp-ad'), fault: fc.constantFrom(...directoryFaults) }),
  happening('GUEST_CRASHES', { vm }),
  happening('GUEST_HALTS', { vm }),
  happening('GUEST_HANGS', { vm }),
  happening('GUEST_FAILS', { vm, fault: fc.constantFrom(...guestFaults) }),
  happening('GUEST_PORT_CLOSES', { vm, port: fc.constantFrom(80, 443) }),
  happening('VM_JOINS_LEGACY_POLICY', { vm }),
  happening('EXTERNAL_VM_VANISHES', { vm: fc.constantFrom('legacy-erp', 'legacy-test') }),
  drift('VM', 'batch-01', 'powerState', 'OFF'),
  drift('VM', 'web-02', 'memoryBytes', 1024 ** 3),
  drift('SUBNET', 'vlan-100-app', 'tag', 77),
  drift('CLUSTER', 'hp-native-01', 'SNMP_SERVER_CONFIG/isEnabled', true),
)
const plan = fc.constantFrom({}, {}, { after: 'PT3M' }, { duration: 'PT20M' }, { after: 'PT1M', duration: 'PT4M' })

/** Some cannot happen: there is no such thing, or it does not last. Those are refused. */
export const events: fc.Arbitrary<object> = fc.tuple(happenings, plan).map(([event, plan]) => ({ event, ...plan }))
