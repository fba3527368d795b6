/** A VM as one archive file: descriptor and disks. Source: catalogue vmm.json; behaviour vmm.md 1.11, 2, operation-roles.tsv. */
import { names } from '../../names.ts'
import { action, create, get, list, perSecond, read, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { CategoryReference } from '../references.ts'
import { vmOverrides } from '../vm/clone.ts'
import { CdRom } from '../vm/parts/cd-rom.ts'
import { Nic } from '../vm/parts/nic.ts'
import { Vm } from '../vm/vm.ts'
import { ObjectsLiteSource, UrlSource } from './image.ts'

const diskFormat = s.enumeration(['QCOW2', 'VMDK'])

// Not a reference: the OVA outlives the VM, and the task reports a VM that does not exist.
export const OvaVmSource = s.object('vmm.v4.content.OvaVmSource', { vmExtId: s.uuid(), diskFileFormat: diskFormat })
export const OvaUrlSource = s.object('vmm.v4.content.OvaUrlSource', UrlSource.fields)

export const OvaSha1Checksum = s.object('vmm.v4.content.OvaSha1Checksum', {
  hexDigest: s.text({ pattern: '^[a-fA-F0-9]{40}$' }),
})
export const OvaSha256Checksum = s.object('vmm.v4.content.OvaSha256Checksum', {
  hexDigest: s.text({ pattern: '^[a-fA-F0-9]{64}$' }),
})

const source = s.oneOf(OvaVmSource, OvaUrlSource, ObjectsLiteSource)
const checksum = s.oneOf(OvaSha1Checksum, OvaSha256Checksum)
const clusterLocationExtIds = s.arrayOf(s.referenceTo('Cluster'), { maxItems: 200 })

export const Ova = resource('vmm.v4.content.Ova', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    // Required on create.
    source: s.optional(source),
    /** Default: the SHA-256 digest of the file. */
    checksum: s.optional(checksum),
    clusterLocationExtIds: s.optional(clusterLocationExtIds),
    diskFormat: s.readOnly(diskFormat),
    sizeBytes: s.readOnly(s.integer()),
    vmConfig: s.readOnly(Vm.schema),
    parentVm: s.readOnly(s.text()),
    createTime: s.readOnly(s.timestamp()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(
      s.object('iam.v4.authn.User', { extId: s.optional(s.uuid()), username: s.optional(s.text()) }),
    ),
  },
  iam: { cluster_uuid: 'clusterLocationExtIds', name: 'name', owner_uuid: 'createdBy/extId' },
  internal: {
    /** File in the archive of each disk of `vmConfig`. */
    diskFiles: s.optional(s.arrayOf(s.text())),
  },
  ofCluster: { stays: 'an OVA keeps the clusters of its files registered' },
})

/** The name is the only field that changes; clients return the others as they read them. */
const ChangedOva = s.object('vmm.v4.content.Ova', {
  ...Ova.schema.fields,
  source: s.readOnly(source),
  checksum: s.readOnly(checksum),
  clusterLocationExtIds: s.readOnly(clusterLocationExtIds),
})

const { guestCustomization: _guestCustomization, ...overrides } = vmOverrides
export const OvaVmConfigOverrideSpec = s.object('vmm.v4.ahv.config.OvaVmConfigOverrideSpec', {
  ...overrides,
  nics: s.arrayOf(Nic.schema, { maxItems: 64 }),
  cdRoms: s.optional(s.arrayOf(CdRom.schema, { maxItems: 10 })),
  categories: s.optional(s.arrayOf(CategoryReference, { maxItems: 256, uniqueItems: true })),
})
export const OvaDeploymentSpec = s.object('vmm.v4.content.OvaDeploymentSpec', {
  clusterLocationExtId: s.referenceTo('Cluster'),
  overrideVmConfig: OvaVmConfigOverrideSpec,
})

const writers: readonly RoleName[] = ['Platform Admin', 'Super Admin', 'Virtual Machine Admin']

const view = { roles: [...writers, ...names('Platform Viewer, Virtual Machine Operator')] }
const mutation = { roles: writers, rateLimit: perSecond(2, 2, 5) } as const

const one = '/content/ovas/{extId}'

export const ovaOperations = {
  listOvas: list('/content/ovas', Ova, {
    ...view,
    filter: names('createTime, diskFormat, extId, name, parentVm, sizeBytes'),
    orderby: names('createTime, lastUpdateTime, name, sizeBytes'),
    select: names(`
      clusterLocationExtIds, createTime, createdBy, diskFormat, extId, lastUpdateTime, links, name, parentVm, sizeBytes,
      tenantId, vmConfig
    `),
  }),
  createOva: create('/content/ovas', Ova, mutation),
  getOvaById: get(one, Ova, view),
  updateOvaById: update(one, Ova, { ...mutation, body: ChangedOva }),
  deleteOvaById: remove(one, Ova, mutation),
  deployOva: action('/content/ovas/{extId}/$actions/deploy', { ...mutation, of: Ova, body: OvaDeploymentSpec }),
  getFileByOvaId: read('/content/ovas/{ovaExtId}/file', s.anything(), {
    of: Ova,
    envelope: 'vmm.v4.content.GetOvaFileApiResponse',
    iam: 'Download_Ova',
    roles: names('Platform Admin, Platform Viewer, Super Admin') satisfies readonly RoleName[],
    rateLimit: perSecond(1, 1, 2),
    produces: 'application/octet-stream',
  }),
}
