/**
 * The rules of a body are checked before its references: 400 before 404. One case for each operation whose kind has
 * rules and whose body can name something; an operation without a case fails.
 * Source: behaviour conventions 1 (steps 13, 14).
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type AnySchema, contract, type Operation } from '@hyperplane/contract'
import { seedId } from '../../src/core/ids/named-id.ts'
import { systemRoleId } from '../../src/domains/iam/catalogue/system-roles.ts'
import { domains } from '../../src/domains/index.ts'
import { issue, providerForm } from '../support/authorities.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)
const nativeCluster = seedId('cluster/hp-native-01')
const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'

interface Case {
  /** The path below the version; a function where the target is made for it. */
  readonly path: string | ((app: TestApp) => Promise<string>)
  /** Breaks no rule, and refers to an unknown entity. */
  readonly body: object | (() => Promise<object>)
  /** The fields that break a rule. */
  readonly broken: object
}

const container = { name: 'by-order', replicationFactor: 1 }
const group = `/config/volume-groups/${seedId('volume-group/vg-unused')}`
const profile = (action: string) => async (app: TestApp) =>
  `/config/cluster-profiles/${await firstOf(app, '/clustermgmt/v4.2/config/cluster-profiles')}/$actions/${action}`
const vlan = { name: 'by-order', subnetType: 'VLAN', networkId: 77, virtualSwitchReference: unknown }
const routing = {
  name: 'by-order',
  priority: 10,
  vpcExtId: unknown,
  policies: [
    {
      policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
      policyAction: { actionType: 'PERMIT' },
    },
  ],
}
const policy = {
  displayName: 'by-order',
  role: unknown,
  identities: [{ identityFilter: { user: { uuid: { anyof: [unknown] } } } }],
  entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
}
const vm = { name: 'by-order', memorySizeBytes: 1024 ** 3, categories: [{ extId: unknown }] }

const certificateProvider = async () => ({
  name: 'by-order',
  clientCaChain: (await issue({ name: `CN=Root ${randomUUID()}`, isAuthority: true })).pem,
  dirSvcExtID: unknown,
})

const cases: Readonly<Record<string, Case>> = {
  'clustermgmt.applyClusterProfile': {
    path: profile('apply'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
  'clustermgmt.createStorageContainer': {
    path: '/config/storage-containers',
    body: { ...container, affinityHostExtId: unknown },
    broken: { isInternal: true },
  },
  'clustermgmt.disassociateClusterFromClusterProfile': {
    path: profile('disassociate-cluster'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
  'clustermgmt.updateStorageContainerById': {
    path: `/config/storage-containers/${seedId('container/hp-native-01/db-gold')}`,
    body: { name: 'db-gold', externalStorageExtId: unknown },
    broken: { logicalAdvertisedCapacityBytes: 1, logicalExplicitReservedCapacityBytes: 2 },
  },
  'iam.createAuthorizationPolicy': {
    path: '/authz/authorization-policies',
    body: policy,
    broken: { authorizationPolicyType: 'PREDEFINED_READ_ONLY' },
  },
  'iam.createCertAuthProvider': {
    path: '/authn/cert-auth-providers',
    body: certificateProvider,
    broken: { isCrlEnabled: true },
  },
  'iam.updateAuthorizationPolicyById': {
    path: async (app) => `/authz/authorization-policies/${await aPolicy(app)}`,
    body: policy,
    broken: { entities: [{ entityFilter: { vm: { name: { nearly: 'x' } } } }] },
  },
  'iam.updateCertAuthProviderById': {
    path: async (app) => {
      const form = providerForm({ ...(await certificateProvider()), dirSvcExtID: undefined })
      const made = await app.call('POST', '/iam/v4.1.b2/authn/cert-auth-providers', { form })
      return `/authn/cert-auth-providers/${made.data.extId}`
    },
    body: certificateProvider,
    broken: { isCrlEnabled: true },
  },
  'networking.createRoutingPolicy': { path: '/config/routing-policies', body: routing, broken: { priority: 9 } },
  'networking.createSubnet': { path: '/config/subnets', body: vlan, broken: { networkId: 5000 } },
  'networking.createVpc': {
    path: '/config/vpcs',
    body: { name: 'by-order', externalSubnets: [{ subnetReference: unknown }] },
    broken: { kubernetesClusters: [{ extId: unknown }, { extId: unknown }] },
  },
  'networking.updateSubnetById': {
    path: `/config/subnets/${seedId('subnet/vlan-100-app')}`,
    body: vlan,
    broken: { networkId: 5000 },
  },
  'networking.updateVpcById': {
    path: `/config/vpcs/${seedId('vpc/tenant-a')}`,
    body: { name: 'by-order', externalSubnets: [{ subnetReference: unknown }] },
    broken: { kubernetesClusters: [{ extId: unknown }, { extId: unknown }] },
  },
  'storage.addStorageContainerForCluster': {
    path: '/config/storage-containers',
    body: { ...container, affinityHostUuid: unknown },
    broken: { isNfsWhitelistInherited: true, nfsWhitelistAddress: [{}] },
  },
  'vmm.createImage': {
    path: '/content/images',
    body: {
      name: 'by-order',
      type: 'DISK_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/by-order.qcow2' },
      categoryExtIds: [unknown],
    },
    broken: { source: undefined },
  },
  'vmm.createVm': { path: '/ahv/config/vms', body: vm, broken: { memorySizeBytes: 1 } },
  'vmm.updateImageById': {
    path: `/content/images/${seedId('image/ubuntu-24.04.qcow2')}`,
    body: { name: 'by-order', type: 'DISK_IMAGE', categoryExtIds: [unknown] },
    broken: { name: '../by-order' },
  },
  'vmm.updateVmById': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}`,
    body: vm,
    broken: { hardwareClockTimezone: 'Nowhere/Never' },
  },
  'volumes.associateCategory': {
    path: `${group}/$actions/associate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
  'volumes.attachIscsiClient': {
    path: `${group}/$actions/attach-iscsi-client`,
    body: { extId: unknown },
    broken: { attachmentSite: 'PRIMARY' },
  },
  'volumes.createVolumeGroup': {
    path: '/config/volume-groups',
    body: { name: 'by-order', clusterReference: unknown },
    broken: { targetPrefix: 'prefix-of-it', targetName: 'name-of-the-target' },
  },
  'volumes.disassociateCategory': {
    path: `${group}/$actions/disassociate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
}

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('every operation with rules and references has a case here', () => {
  const ruled = new Set(
    Object.entries(domains).flatMap(([prefix, kinds]) =>
      Object.values(kinds).flatMap(({ rules }) => Object.keys(rules).map((id) => `${prefix}.${id}`)),
    ),
  )
  const wanted = operations.filter((operation) => ruled.has(operation.key) && canName(operation))
  assert.deepEqual(Object.keys(cases).sort(), wanted.map(({ key }) => key).sort())
})

for (const operation of operations) {
  const one = cases[operation.key]
  if (one === undefined) continue
  test(`${operation.key}: a body that breaks a rule and refers to an unknown entity is 400; without the fault it is 404`, async () => {
    const path = typeof one.path === 'string' ? one.path : await one.path(app)
    const base = `/${operation.namespace}/${operation.versions[0]}`
    const owner = path.replace(/\/\$actions\/.*/, '')
    const { etag } = owner === operation.path ? {} : await app.call('GET', base + owner)
    const send = (body: object) =>
      app.call(operation.method, base + path, {
        ...(operation.form === undefined ? { body } : { form: providerForm({ ...body }) }),
        requestId: randomUUID(),
        ...(operation.clusterId === undefined ? {} : { clusterId: nativeCluster }),
        ...(etag === undefined ? {} : { ifMatch: etag }),
      })
    const body = typeof one.body === 'function' ? await one.body() : one.body
    const broken = await send({ ...body, ...one.broken })
    assert.equal(broken.status, 400, JSON.stringify(broken.errors))
    assert.ok(
      broken.errors.every((error) => error.errorGroup !== undefined),
      `a rule, not a fault of shape: ${JSON.stringify(broken.errors)}`,
    )
    const whole = await send(body)
    assert.equal(whole.status, 404, JSON.stringify(whole.errors))
    assert.match(JSON.stringify(whole.errors), new RegExp(unknown))
  })
}

/** Immutable fields can only be sent unchanged, so they add no reference. */
function canName({ body, verb }: Operation): boolean {
  const visit = (schema: AnySchema): boolean => {
    if (schema.readOnly === true || (verb === 'update' && schema.immutable === true)) return false
    if (schema.type === 'uuid') return schema.refersTo !== undefined
    if (schema.type === 'object') return Object.values(schema.fields).some(visit)
    if (schema.type === 'list') return visit(schema.items)
    return schema.type === 'oneOf' && schema.alternatives.some(visit)
  }
  return body !== undefined && visit(body)
}

async function firstOf(app: TestApp, list: string): Promise<string> {
  return (await app.call('GET', list)).data[0].extId
}

async function aPolicy(app: TestApp): Promise<string> {
  const made = await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', {
    body: { ...policy, role: systemRoleId('Platform Viewer') },
  })
  return made.data.extId
}
