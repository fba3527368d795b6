/** Requests of many kinds, each from choices and from what is known: as sensible clients send them, and now and then not. */
import { catalogueId } from '../../../src/core/ids/named-id.ts'
import { onCluster } from '../../support/backups.ts'
import { chap, GiB } from '../../support/volumes.ts'
import { attachedTo } from '../../support/vpcs.ts'
import { collections } from './model.ts'
import {
  acting,
  type Builder,
  element,
  everything,
  iqn,
  name,
  nativeCluster,
  nqn,
  post,
  put,
  removing,
  someCategory,
  someVm,
  subnetBody,
  vmBody,
} from './request-parts.ts'

const { categories, clusters, containers, groups, images, policies, profiles, roles } = collections
const { routingPolicies, subnets, tasks, users, vms, vpcs, backupTargets, iscsiClients, nvmfClients } = collections

const seeImages = catalogueId('operation', 'View_Image')
/** Nothing of the service may hold this as it stands here. */
export const walkersPassword = 'A.Walkers-Passw0rd'

export const builders = {
  createVm: (asking) => post(vms, vmBody(asking)),
  renameVm: (asking) => put(asking, asking.model.path(asking.draw, vms), { name: name(asking, 'vm') }),
  categorizeVm: (asking) => put(asking, asking.model.path(asking.draw, vms), someCategory(asking)),
  resizeVm: (asking) =>
    put(asking, asking.model.path(asking.draw, vms), { memorySizeBytes: GiB * asking.draw.of([1, 3, 16]) }),
  deleteVm: removing(vms),
  powerOnVm: acting(vms, 'power-on'),
  powerOffVm: acting(vms, 'power-off'),
  resetVm: acting(vms, 'reset'),
  shutdownVm: acting(vms, 'shutdown'),

  createImage: (asking) =>
    post(images, {
      name: name(asking, 'image'),
      type: 'DISK_IMAGE',
      source: {
        $objectType: 'vmm.v4.content.UrlSource',
        url: `https://images.example.com/${asking.draw.below(4)}.qcow2`,
      },
    }),
  renameImage: (asking) =>
    put(asking, asking.model.path(asking.draw, images), { name: name(asking, 'image') }, ['type']),
  deleteImage: removing(images),

  createSubnet: (asking) => post(subnets, subnetBody(asking)),
  renameSubnet: (asking) => put(asking, asking.model.path(asking.draw, subnets), { name: name(asking, 'subnet') }),
  deleteSubnet: removing(subnets),
  reserveAddresses: ({ model, draw }) =>
    post(`${model.path(draw, subnets)}/addresses/$actions/reserve`, {
      reserveType: 'IP_ADDRESS_COUNT',
      count: draw.of([1, 2, 5]),
      clientContext: `walk-${draw.below(2)}`,
    }),
  unreserveAddresses: ({ model, draw }) =>
    post(`${model.path(draw, subnets)}/addresses/$actions/unreserve`, {
      unreserveType: 'CONTEXT',
      clientContext: `walk-${draw.below(2)}`,
    }),
  createVpc: (asking) =>
    post(vpcs, {
      name: name(asking, 'vpc'),
      ...(asking.draw.isOneIn(2) ? { externalSubnets: [attachedTo(asking.draw.of(['ext-nat', 'ext-routed']))] } : {}),
    }),
  renameVpc: (asking) => put(asking, asking.model.path(asking.draw, vpcs), { name: name(asking, 'vpc') }),
  deleteVpc: removing(vpcs),
  createRoutingPolicy: ({ model, draw }) =>
    post(routingPolicies, {
      name: `policy-${model.number()}`,
      priority: 200 + draw.below(20),
      vpcExtId: model.extId(draw, vpcs),
      policies: [
        {
          policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
          policyAction: { actionType: 'PERMIT' },
        },
      ],
    }),
  deleteRoutingPolicy: removing(routingPolicies),

  createVolumeGroup: (asking) =>
    post(groups, {
      name: name(asking, 'vg'),
      clusterReference: nativeCluster,
      ...(asking.draw.isOneIn(2) ? { sharingStatus: 'SHARED' } : {}),
      ...(asking.draw.isOneIn(3) ? chap : {}),
      ...(asking.draw.isOneIn(2) ? { disks: [{ diskSizeBytes: GiB }] } : {}),
    }),
  renameVolumeGroup: (asking) =>
    put(asking, asking.model.path(asking.draw, groups), { name: name(asking, 'vg') }, ['sharingStatus']),
  deleteVolumeGroup: ({ model, draw }) => ({ method: 'DELETE', path: model.path(draw, groups) }),
  createVolumeDisk: ({ model, draw }) => post(`${model.path(draw, groups)}/disks`, { diskSizeBytes: GiB }),
  growVolumeDisk: (asking) => {
    const path = asking.model.part(asking.draw, 'disks')
    return path === undefined
      ? undefined
      : put(asking, path, { diskSizeBytes: GiB * asking.draw.of([2, 3]) }, ['index'])
  },
  deleteVolumeDisk: ({ model, draw }) => {
    const path = model.part(draw, 'disks')
    return path === undefined ? undefined : { method: 'DELETE', path }
  },
  attachVm: acting(groups, 'attach-vm', someVm),
  detachVm: acting(groups, 'detach-vm', someVm),
  attachIscsiClient: acting(groups, 'attach-iscsi-client', iqn),
  detachIscsiClient: acting(groups, 'detach-iscsi-client', ({ model, draw }) => ({
    extId: model.extId(draw, iscsiClients),
  })),
  attachNvmfClient: acting(groups, 'attach-nvmf-client', nqn),
  detachNvmfClient: acting(groups, 'detach-nvmf-client', ({ model, draw }) => ({
    extId: model.extId(draw, nvmfClients),
  })),
  categorizeVolumeGroup: acting(groups, 'associate-category', someCategory),
  uncategorizeVolumeGroup: acting(groups, 'disassociate-category', someCategory),

  createContainer: (asking) => ({ ...post(containers, { name: name(asking, 'ctr') }), clusterId: nativeCluster }),
  renameContainer: (asking) =>
    put(asking, asking.model.path(asking.draw, containers), { name: name(asking, 'ctr') }, ['isCompressionEnabled']),
  deleteContainer: removing(containers),
  categorizeCluster: acting(clusters, 'associate-categories', ({ model, draw }) => ({
    categories: [model.extId(draw, categories)],
  })),
  uncategorizeCluster: acting(clusters, 'disassociate-categories', ({ model, draw }) => ({
    categories: [model.extId(draw, categories)],
  })),
  createProfile: (asking) =>
    post(profiles, { name: name(asking, 'profile'), nameServerIpList: [{ ipv4: { value: '10.8.8.8' } }] }),
  applyProfile: ({ model, draw }) =>
    post(`${model.path(draw, profiles)}/$actions/apply`, { clusters: [{ uuid: model.extId(draw, clusters) }] }),
  deleteProfile: removing(profiles),

  createCategory: (asking) => post(categories, { key: 'walk', value: name(asking, 'value') }),
  describeCategory: (asking) =>
    put(asking, asking.model.path(asking.draw, categories), { description: name(asking, 'said') }, ['key', 'value']),
  deleteCategory: removing(categories),
  createManyCategories: ({ model, draw }) =>
    post('/platform/v4.3/operations/$actions/batch', {
      metadata: {
        action: 'CREATE',
        name: 'walk',
        uri: `/api${categories}`,
        chunkSize: draw.of([1, 3]),
        shouldStopOnError: draw.isOneIn(2),
      },
      // Some pairs are there already: those elements fail.
      payload: draw
        .some([1, 1, 2, 3, 4], 5)
        .map((value) => element({ key: `many-${model.number() % 3}`, value: `v${value}` })),
    }),
  createManyVms: (asking) =>
    post('/platform/v4.3/operations/$actions/batch', {
      metadata: { action: 'CREATE', name: 'walk', uri: `/api${vms}`, chunkSize: asking.draw.of([1, 3]) },
      payload: [1, 2, 3].map(() => element(vmBody(asking))),
    }),
  createBackupTarget: () => post(backupTargets, { location: onCluster(nativeCluster) }),
  deleteBackupTarget: removing(backupTargets),
  cancelTask: ({ model, draw }) => post(`${model.path(draw, tasks)}/$actions/cancel`),

  createUser: (asking) =>
    post(users, {
      userType: 'LOCAL',
      username: name(asking, 'walker').toLowerCase(),
      password: walkersPassword,
    }),
  describeUser: (asking) =>
    put(asking, asking.model.path(asking.draw, users), { displayName: name(asking, 'Walker') }, [
      'username',
      'userType',
    ]),
  switchUser: ({ model, draw }) =>
    post(`${model.path(draw, users)}/$actions/change-state`, { status: draw.of(['ACTIVE', 'INACTIVE']) }),
  createRole: (asking) => post(roles, { displayName: name(asking, 'role'), operations: [seeImages] }),
  deleteRole: removing(roles),
  createPolicy: ({ model, draw }) =>
    post(policies, {
      displayName: `policy-${model.number()}`,
      role: model.extId(draw, roles),
      identities: [{ identityFilter: { user: { uuid: { anyof: [model.extId(draw, users)] } } } }],
      entities: [{ entityFilter: everything }],
    }),
  deletePolicy: removing(policies),
} satisfies Record<string, Builder>

export type RequestName = keyof typeof builders

/** Some meet more of the others than the rest do. */
const often: readonly RequestName[] = [
  ...(['createVm', 'powerOnVm', 'deleteVm', 'renameVm', 'attachVm', 'createVolumeGroup', 'cancelTask'] as const),
  ...(['createVm', 'powerOnVm', 'powerOffVm', 'createSubnet', 'reserveAddresses', 'deleteVolumeGroup'] as const),
]
export const requestNames: readonly RequestName[] = [...(Object.keys(builders) as RequestName[]), ...often]
