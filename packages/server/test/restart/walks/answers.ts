/** What the interface counts, and what can be counted beside it. Source: behaviour clustermgmt.md 3, vmm.md 3.8, volumes-storage.md 3, platform.md 12. */

import assert from 'node:assert/strict'
import { contract } from '@hyperplane/contract'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { formatAddress } from '../../../src/core/ip-address.ts'
import { addressOfLease } from '../../../src/domains/addressing/leases.ts'
import { storeTables } from '../../../src/domains/tables.ts'
import { walkEntities } from '../../kinds/collected.ts'
import { differences } from '../../support/invariants.ts'
import type { TestApp } from '../../support/start-app.ts'
import { collections } from './model.ts'

/** @throws AssertionError with all that disagrees */
export async function checkAnswers(app: TestApp): Promise<void> {
  const faults: string[] = []
  const rules = [listsAreWhole, categoriesAreCounted, hostsAreCounted, leasesAreShown, attachmentsAgree, devicesDiffer]
  for (const rule of rules) for (const fault of await rule(app)) faults.push(`${rule.name}: ${fault}`)
  assert.deepEqual(faults, [])
}

async function all(app: TestApp, path: string, query = ''): Promise<any[]> {
  const found: any[] = []
  for (let page = 0; ; page++) {
    const { status, data, total, errors } = await app.call('GET', `${path}?$page=${page}&$limit=100${query}`)
    assert.equal(status, 200, `${path}: ${JSON.stringify(errors)}`)
    found.push(...data)
    if (data.length < 100) {
      if (total !== found.length) found.push({ extId: `${total} in total, ${found.length} listed` })
      return found
    }
  }
}

/** Totals are what pages hold together, and nothing stands on two of them. */
async function listsAreWhole(app: TestApp): Promise<string[]> {
  const faults: string[] = []
  for (const path of Object.keys(walkEntities)) {
    // There are a few at most, and all are told at once.
    if (path === collections.backupTargets) continue
    const listed = await all(app, path)
    const wrong = listed.find(({ extId }) => / in total, /.test(extId))
    if (wrong !== undefined) faults.push(`${path}: ${wrong.extId}`)
    const ids = listed.map(({ extId }) => extId)
    if (new Set(ids).size !== ids.length) faults.push(`${path} lists something twice`)
  }
  return faults
}

/** Kinds that a category counts, each once: some are shown by two namespaces. */
const carriers = [
  ...new Map(contract.flatMap(({ resources }) => resources).map((kind) => [kind.kind, kind])).values(),
].filter(({ kind, associationType }) => associationType !== undefined && storeTables().has(kind))

/** A category counts those that name it, by type. */
async function categoriesAreCounted(app: TestApp): Promise<string[]> {
  const rows: { readonly type: string; readonly text: string }[] = []
  for (const kind of carriers)
    for (const row of await app.store.find(kind))
      rows.push({ type: kind.associationType ?? '', text: JSON.stringify(row) })
  const faults: string[] = []
  for (const { extId, key, value } of await all(app, collections.categories)) {
    const { data } = await app.call('GET', `${collections.categories}/${extId}?$expand=associations`)
    const shown = (data.associations ?? []).flatMap(({ resourceType, count }: any) => Array(count).fill(resourceType))
    const found = rows.flatMap(({ type, text }) => (text.includes(`"${extId}"`) ? type : []))
    for (const difference of differences(shown, found)) faults.push(`${key}/${value} counts otherwise: ${difference}`)
  }
  return faults
}

const hosts = '/clustermgmt/v4.2/config/hosts'

async function hostsAreCounted(app: TestApp): Promise<string[]> {
  const listed = await all(app, hosts)
  return (await all(app, collections.clusters)).flatMap(({ extId, name, nodes }) => {
    const own = listed.filter(({ cluster }) => cluster?.uuid === extId)
    const counted = nodes?.numberOfNodes ?? own.length
    return counted === own.length ? [] : `${name} counts ${counted} nodes, and ${own.length} hosts are listed`
  })
}

/** What is leased to NICs is what NICs show, each address once. */
async function leasesAreShown(app: TestApp): Promise<string[]> {
  const nics = (await all(app, collections.vms)).flatMap(({ nics = [] }) => nics)
  const shown = nics.flatMap(({ extId, networkInfo }: any) => {
    const { ipAddress, secondaryIpAddressList = [] } = networkInfo?.ipv4Config ?? {}
    const addresses = [ipAddress, ...secondaryIpAddressList].flatMap((address) => address?.value ?? [])
    return addresses.map((address: string) => `${address} of ${networkInfo.subnet.extId} for ${extId}`)
  })
  const leases = (await app.store.find(AddressLease)).filter(({ kind = '' }) => kind.startsWith('ASSIGNED'))
  const ofNics = leases.filter(({ holderExtId }) => nics.some(({ extId }) => extId === holderExtId))
  const leased = ofNics.map(
    (lease) => `${formatAddress(addressOfLease(lease))} of ${lease.subnetExtId} for ${lease.holderExtId}`,
  )
  const twice = new Set(leases.map(({ subnetExtId, family, address }) => `${subnetExtId} ${family} ${address}`))
  return [...differences(leased, shown), ...(twice.size === leases.length ? [] : ['an address is leased twice'])]
}

/** Groups, VMs and clients tell of the same attachments. */
async function attachmentsAgree(app: TestApp): Promise<string[]> {
  const faults: string[] = []
  const vms = await all(app, collections.vms)
  const groups = await all(app, collections.groups)
  const ofVms = vms.flatMap(({ extId, disks = [] }) =>
    disks.flatMap(({ backingInfo }: any) =>
      backingInfo?.volumeGroupExtId === undefined ? [] : `${backingInfo.volumeGroupExtId} of ${extId}`,
    ),
  )
  const ofGroups: string[] = []
  const clientsOf = new Map<string, number>()
  for (const { extId, name } of groups) {
    const { data } = await app.call('GET', `${collections.groups}/${extId}`)
    const attachments: any[] = (data.attachments ?? []).map(({ attachment }: any) => attachment)
    const kinds = new Set(attachments.map(({ $objectType }) => $objectType))
    if (data.sharingStatus !== 'SHARED' && attachments.length > 1)
      faults.push(`"${name}" is not shared, and attached ${attachments.length} times`)
    if (kinds.has('volumes.v4.config.IscsiClientAttachment') && kinds.has('volumes.v4.config.NvmfClientAttachment'))
      faults.push(`"${name}" speaks two protocols`)
    for (const { $objectType, extId: consumer } of attachments) {
      if ($objectType === 'volumes.v4.config.VmAttachment') ofGroups.push(`${extId} of ${consumer}`)
      else clientsOf.set(consumer, (clientsOf.get(consumer) ?? 0) + 1)
    }
    const disks = await all(app, `${collections.groups}/${extId}/disks`)
    const indexes = disks.map(({ index }) => index)
    if (new Set(indexes).size !== indexes.length) faults.push(`"${name}" has two disks at one index`)
  }
  if (JSON.stringify(ofVms.sort()) !== JSON.stringify(ofGroups.sort()))
    faults.push(`VMs have ${ofVms}, groups are attached as ${ofGroups}`)
  for (const collection of [collections.iscsiClients, collections.nvmfClients])
    for (const { extId, attachedTargets = [] } of await all(app, collection))
      if (attachedTargets.length !== (clientsOf.get(extId) ?? 0))
        faults.push(`the client ${extId} shows ${attachedTargets.length} targets, and has ${clientsOf.get(extId) ?? 0}`)
  return faults
}

/** Places on a bus are taken once. */
async function devicesDiffer(app: TestApp): Promise<string[]> {
  const faults: string[] = []
  for (const { name, disks = [], cdRoms = [] } of await all(app, collections.vms)) {
    const places = [...disks, ...cdRoms].map(({ diskAddress }: any) => `${diskAddress?.busType} ${diskAddress?.index}`)
    if (new Set(places).size !== places.length) faults.push(`"${name}" has two devices at one place: ${places}`)
  }
  return faults
}
