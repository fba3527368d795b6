import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VmBody } from '../../virtual-machines/entity.ts'
import { bootDeviceFaults, configurationFaults } from './rules.ts'

const MiB = 1024 ** 2
const uefi = (more = {}) => ({
  $objectType: 'vmm.v4.ahv.config.UefiBoot',
  bootOrder: [],
  isSecureBootEnabled: false,
  ...more,
})
const body = (more: object): VmBody => ({ name: 'vm', memorySizeBytes: 64 * MiB, machineType: 'PC', ...more }) as VmBody

const faultyPaths = (more: object): string[] =>
  configurationFaults(body(more)).map(
    ({ appMessage }) => appMessage.argumentsMap?.['attributePath'] ?? appMessage.errorGroup,
  )

const cases: [what: string, body: object, faults: string[]][] = [
  ['the smallest VM is fine', {}, []],
  ['memory below 64 MiB', { memorySizeBytes: 63 * MiB }, ['memorySizeBytes']],
  ['memory that is no multiple of 1 MiB', { memorySizeBytes: 64 * MiB + 1 }, ['memorySizeBytes']],
  ['no memory', { memorySizeBytes: undefined }, ['memorySizeBytes']],
  ['memory beyond 16 TiB is a limit', { memorySizeBytes: 17 * 1024 ** 4 }, ['LIMIT_EXCEEDED']],
  ['240 CPUs', { numSockets: 10, numCoresPerSocket: 12, numThreadsPerCore: 2 }, []],
  ['241 CPUs', { numSockets: 241 }, ['numSockets']],
  ['more NUMA nodes than sockets', { numSockets: 2, numNumaNodes: 3 }, ['numNumaNodes']],
  ['secure boot on a PC', { bootConfig: uefi({ isSecureBootEnabled: true }) }, ['machineType']],
  ['secure boot on Q35', { machineType: 'Q35', bootConfig: uefi({ isSecureBootEnabled: true }) }, []],
  ['a virtual TPM without UEFI', { vtpmConfig: { isVtpmEnabled: true } }, ['vtpmConfig/isVtpmEnabled']],
  [
    'IDE on Q35',
    { machineType: 'Q35', cdRoms: [{ diskAddress: { busType: 'IDE' } }] },
    ['cdRoms[0]/diskAddress/busType'],
  ],
  [
    'SPAPR on a PC',
    { cdRoms: [], disks: [{ backingInfo: { diskSizeBytes: 1 }, diskAddress: { busType: 'SPAPR' } }] },
    ['disks[0]/diskAddress/busType'],
  ],
  [
    'SCSI without its controller',
    { isScsiControllerEnabled: false, disks: [{ backingInfo: { diskSizeBytes: 1 } }] },
    ['disks[0]/diskAddress/busType'],
  ],
  [
    'overcommitment with pinning',
    { isMemoryOvercommitEnabled: true, isVcpuHardPinningEnabled: true },
    ['isMemoryOvercommitEnabled'],
  ],
  ['a disk of no size and no source', { disks: [{ backingInfo: {} }] }, ['disks[0]/backingInfo']],
  ['a disk without backing', { disks: [{}] }, ['disks[0]/backingInfo']],
  ['the reserved serial port', { serialPorts: [{ index: 1 }] }, ['serialPorts[0]/index']],
  ['one serial port twice', { serialPorts: [{ index: 0 }, { index: 0 }] }, ['serialPorts[1]/index']],
  ['four serial ports', { serialPorts: [{}, {}, {}, {}] }, ['serialPorts']],
  ['a time zone of the database', { hardwareClockTimezone: 'Europe/Vienna' }, []],
  ['no time zone', { hardwareClockTimezone: 'Europe/Atlantis' }, ['hardwareClockTimezone']],
  ['an offset is no time zone', { hardwareClockTimezone: '+01:00' }, ['hardwareClockTimezone']],
  ['an attribute without a key', { customAttributes: ['color'] }, ['customAttributes[0]']],
  ['two values of a key', { customAttributes: ['color:red', 'color:blue'] }, ['customAttributes[1]']],
  ['a category without an id', { categories: [{}] }, ['categories[0]/extId']],
  ['customisation in base64', { guestCustomization: { config: { metadata: 'aGVsbG8=' } } }, []],
  [
    'customisation in plain text',
    { guestCustomization: { config: { metadata: 'not base64!' } } },
    ['guestCustomization/config/metadata'],
  ],
]
for (const [what, given, faults] of cases) test(what, () => assert.deepEqual(faultyPaths(given), faults))

test('all faults of a body are found together', () => {
  assert.equal(faultyPaths({ memorySizeBytes: 1, numSockets: 999, hardwareClockTimezone: 'x' }).length, 3)
})

test('the text of a customisation is in no fault', () => {
  const [fault] = configurationFaults(body({ guestCustomization: { config: { metadata: 'password: hunter2' } } }))
  assert.doesNotMatch(JSON.stringify(fault?.appMessage), /hunter2/)
})

test('the boot device is a disk or NIC of the VM itself', () => {
  const disks = [{ diskAddress: { busType: 'SCSI', index: 0 } }]
  const nics = [{ backingInfo: { macAddress: '50:6b:8d:00:00:01' } }]
  const booting = (bootDevice: object): number =>
    bootDeviceFaults(body({ disks, nics, bootConfig: { bootDevice } })).length
  assert.equal(booting({ diskAddress: { busType: 'SCSI', index: 0 } }), 0)
  assert.equal(booting({ diskAddress: { busType: 'SCSI', index: 1 } }), 1)
  assert.equal(booting({ macAddress: '50-6B-8D-00-00-01' }), 0)
  assert.equal(booting({ macAddress: '50:6b:8d:00:00:02' }), 1)
})
