/** Traffic through appliances. Source: catalogue networking.json; behaviour networking.md 1.15, 2. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

const threshold = () => s.withDefault(s.integer({ minimum: 1, maximum: 64 }), 3)

export const DataPlaneHealthCheckConfig = s.object('networking.v4.config.DataPlaneHealthCheckConfig', {
  intervalSecs: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 5),
  timeoutSecs: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 1),
  successThreshold: threshold(),
  failureThreshold: threshold(),
})

/** Two NICs of one VM: traffic enters and leaves the VM through them. Their faults fail the task. */
export const NicPair = s.object('networking.v4.config.NicPair', {
  ingressNicReference: s.referenceTo('Nic'),
  egressNicReference: s.optional(s.referenceTo('Nic')),
  /** Default: the VM of the NICs. */
  vmReference: s.optional(s.uuid()),
  isEnabled: s.withDefault(s.boolean(), true),
  /** INLINE functions only. */
  dataPlaneHealthStatus: s.readOnly(s.enumeration(['HEALTHY', 'UNHEALTHY'])),
  highAvailabilityState: s.readOnly(s.enumeration(['ACTIVE', 'PASSIVE'])),
})

const pairs = () => s.arrayOf(NicPair, { minItems: 1, maxItems: 2 })
/** Machines with NICs in the pairs. */
const machines = () => s.optional(s.arrayOf(s.referenceTo('Vm')))

export const NetworkFunction = resource('networking.v4.config.NetworkFunction', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    highAvailabilityMode: s.enumeration(['ACTIVE_PASSIVE']),
    trafficForwardingMode: s.withDefault(s.enumeration(['INLINE', 'VTAP']), 'INLINE'),
    /** INLINE only. NO_ACTION is stored as the default, FAIL_CLOSE. */
    failureHandling: s.optional(s.enumeration(['NO_ACTION', 'FAIL_CLOSE', 'FAIL_OPEN'])),
    dataPlaneHealthCheckConfig: s.optional(DataPlaneHealthCheckConfig),
    nicPairs: pairs(),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    vmExtIds: machines(),
    change: changeHolding({ name: s.optional(s.text()), nicPairs: s.optional(pairs()), vmExtIds: machines() }),
  },
  unique: [{ fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: ownAttributes,
  gate: { product: 'FLOW_NETWORK_SECURITY', keepsProductEnabled: true },
  ofCluster: { stays: 'its NIC pairs may be on several clusters' },
})

const readers: readonly RoleName[] = names(`
  Account Owner, Administrator, Network Infra Admin, Network Policy Admin, Network Policy Author,
  Network Policy Viewer, Platform Admin, Platform Viewer, Super Admin, User
`)
const writers: readonly RoleName[] = names(`
  Account Owner, Administrator, Network Infra Admin, Network Policy Admin, Platform Admin, Super Admin
`)

const mutation = { roles: writers, rateLimit: mutationRate }
const view = { roles: readers }
const functions = '/config/network-functions'
const one = `${functions}/{extId}` as const

export const networkFunctionOperations = {
  listNetworkFunctions: list(functions, NetworkFunction, {
    ...view,
    filter: ['extId', 'name', 'trafficForwardingMode'],
    orderby: ['name', 'trafficForwardingMode'],
  }),
  createNetworkFunction: create(functions, NetworkFunction, mutation),
  getNetworkFunctionById: get(one, NetworkFunction, view),
  updateNetworkFunctionById: update(one, NetworkFunction, mutation),
  deleteNetworkFunctionById: remove(one, NetworkFunction, mutation),
}
