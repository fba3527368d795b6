/** Archives that other tools have written. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readArchive } from './read-archive.ts'
import { OvaFault } from './read-ovf.ts'

const item = (fields: Readonly<Record<string, string | number>>): string =>
  `<o:Item>${Object.entries(fields)
    .map(([name, value]) => `<r:${name}>${value}</r:${name}>`)
    .join('')}</o:Item>`

/** As an export tool with other prefixes and units writes it. */
const descriptor = (disk = '', more = ''): string => `<?xml version='1.0' encoding='UTF-8'?>
<o:Envelope xmlns:o="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:r="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:v="http://www.vmware.com/schema/ovf">
  <o:References><o:File o:id="f" o:href="root.vmdk" ${disk}/></o:References>
  <o:DiskSection><o:Info/><o:Disk o:diskId="d" o:fileRef="f" o:capacity="16" o:capacityAllocationUnits="byte * 2^30"
    o:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/></o:DiskSection>
  <o:VirtualSystem o:id="appliance"><o:Info/>
    <o:VirtualHardwareSection><o:Info/>
      ${item({ ElementName: 'cpu', InstanceID: 1, ResourceType: 3, VirtualQuantity: 4 }).replace('</o:Item>', '<v:CoresPerSocket>2</v:CoresPerSocket></o:Item>')}
      ${item({ AllocationUnits: 'MegaBytes', ElementName: 'memory', InstanceID: 2, ResourceType: 4, VirtualQuantity: 2048 })}
      ${item({ Address: 0, ElementName: 'ide', InstanceID: 3, ResourceType: 5 })}
      ${item({ AddressOnParent: 0, ElementName: 'disk', HostResource: 'ovf:/disk/d', InstanceID: 4, Parent: 3, ResourceType: 17 })}
      ${item({ Connection: 'lan', ElementName: 'nic', InstanceID: 5, ResourceSubType: 'E1000', ResourceType: 10 })}
      <v:Config v:key="firmware" v:value="efi"/>
      ${more}
    </o:VirtualHardwareSection>
  </o:VirtualSystem>
</o:Envelope>`

const disk = Buffer.concat([Buffer.from('KDMV'), Buffer.alloc(2000, 7)])

async function archived(
  files: Readonly<Record<string, Buffer | string>>,
  options: readonly string[] = [],
): Promise<Awaited<ReturnType<typeof readArchive>>> {
  const folder = mkdtempSync(join(tmpdir(), 'ova-'))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    execFileSync('tar', ['-C', folder, ...options, '-cf', join(folder, 'archive'), ...Object.keys(files)])
    return await readArchive(createReadStream(join(folder, 'archive'), { highWaterMark: 700 }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const digest = (algorithm: string, content: Buffer | string): string =>
  createHash(algorithm).update(content).digest('hex')

const isFault = (pattern: RegExp) => (error: unknown) => error instanceof OvaFault && pattern.test(error.message)

for (const format of ['gnu', 'ustar', 'posix']) {
  test(`an archive that GNU tar has written in the format ${format} is read`, async () => {
    const text = descriptor()
    const manifest = `SHA1(a.ovf)= ${digest('sha1', text)}\r\nSHA256 (root.vmdk) = ${digest('sha256', disk)}\r\n`
    const files = { 'a.ovf': text, 'root.vmdk': disk, 'a.mf': manifest }
    const { vmConfig, disks } = await archived(files, [`--format=${format}`])
    assert.deepEqual(
      [vmConfig.name, vmConfig.numSockets, vmConfig.numCoresPerSocket, vmConfig.memorySizeBytes],
      ['appliance', 2, 2, 2 * 1024 ** 3],
    )
    assert.equal(vmConfig.bootConfig?.$objectType, 'vmm.v4.ahv.config.UefiBoot')
    assert.deepEqual(
      disks.map(({ fileName, format: written }) => [fileName, written]),
      [['root.vmdk', 'VMDK']],
    )
    assert.deepEqual(vmConfig.disks, [
      {
        diskAddress: { busType: 'IDE', index: 0 },
        backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: 16 * 1024 ** 3 },
      },
    ])
    assert.deepEqual(
      vmConfig.nics?.map(({ backingInfo }) => backingInfo?.model),
      ['E1000'],
    )
  })
}

test('an archive without a manifest is read', async () => {
  assert.equal((await archived({ 'a.ovf': descriptor(), 'root.vmdk': disk })).disks.length, 1)
})

test('an amount whose unit is the byte is read as bytes', async () => {
  const text = descriptor()
    .replace('MegaBytes', 'byte')
    .replace('>2048<', `>${2 ** 31}<`)
  assert.equal((await archived({ 'a.ovf': text, 'root.vmdk': disk })).vmConfig.memorySizeBytes, 2 ** 31)
})

test('faults of an archive say what is wrong', async () => {
  const text = descriptor()
  const cases: [Readonly<Record<string, Buffer | string>>, RegExp][] = [
    [{ 'root.vmdk': disk }, /no descriptor/],
    [{ 'a.ovf': text, 'b.ovf': text, 'root.vmdk': disk }, /one descriptor is expected, found 2/],
    [{ 'a.ovf': text }, /"root\.vmdk" of a disk is missing/],
    [{ 'a.ovf': text, 'root.vmdk': 'text' }, /"root\.vmdk" is no VMDK disk/],
    [
      { 'a.ovf': text, 'a.mf': `SHA256(a.ovf)= ${'0'.repeat(64)}\n`, 'root.vmdk': disk },
      /digest of "a\.ovf" is expected/,
    ],
    [{ 'a.ovf': text, 'a.mf': 'MD5(a.ovf)= 00\n', 'root.vmdk': disk }, /expected in its manifest, found "MD5/],
    [{ 'a.ovf': '<o>', 'root.vmdk': disk }, /not well-formed/],
    [{ 'a.ovf': `<!DOCTYPE a [<!ENTITY b "c">]>${text}`, 'root.vmdk': disk }, /DOCTYPE/],
    [{ 'a.ovf': '<a/>', 'root.vmdk': disk }, /an Envelope of OVF 1, found a/],
    [{ 'a.ovf': text.replaceAll('VirtualSystem', 'VirtualSystems'), 'root.vmdk': disk }, /one VirtualSystem, found 0/],
    [{ 'a.ovf': text.replace('>2048<', '>2048.5<'), 'root.vmdk': disk }, /the memory is expected to be a whole number/],
    [
      { 'a.ovf': text.replace('byte * 2^30', 'byte * 2^60'), 'root.vmdk': disk },
      /capacity of a disk .* less than 8 PiB/,
    ],
    [{ 'a.ovf': text.replace('MegaBytes', 'byte * 2^50'), 'root.vmdk': disk }, /the memory .* less than 8 PiB/],
    [{ 'a.ovf': text.replace('byte * 2^30', 'parsec'), 'root.vmdk': disk }, /a unit like .* found "parsec"/],
    [
      { 'a.ovf': text.replace('/disk/d', '/disk/other'), 'root.vmdk': disk },
      /"other" of the virtual hardware has no file/,
    ],
    [{ 'a.ovf': descriptor('o:compression="gzip"'), 'root.vmdk': disk }, /compressed or split/],
    [{ 'a.ovf': text.replace('vmdk.html', 'vhd.html'), 'root.vmdk': disk }, /VMDK or QCOW2, found/],
  ]
  for (const [files, pattern] of cases) await assert.rejects(archived(files), isFault(pattern), String(pattern))
})

test('descriptors and manifests that are too large only together are refused', async () => {
  const padded = Buffer.alloc(700 * 1024, 10)
  const files = { 'a.ovf': descriptor(), 'b.mf': padded, 'c.mf': padded, 'root.vmdk': disk }
  await assert.rejects(archived(files), isFault(/descriptors and manifests are larger than 1 MiB/))
})

test('a file whose name is longer than any path is refused', async () => {
  const folders = Array.from({ length: 10 }, () => 'a'.repeat(200)).join('/')
  const renaming = ['--format=posix', `--transform=s,root,${folders}/root,`]
  await assert.rejects(archived({ 'root.vmdk': disk }, renaming), isFault(/a name of at most 1024 characters/))
})

test('an unknown time zone becomes UTC', async () => {
  const zoneOf = async (name: string): Promise<unknown> => {
    const text = descriptor('', `<v:Config v:key="hardwareClockTimezone" v:value="${name}"/>`)
    return (await archived({ 'a.ovf': text, 'root.vmdk': disk })).vmConfig.hardwareClockTimezone
  }
  assert.deepEqual([await zoneOf('Europe/Berlin'), await zoneOf('Middle/Earth')], ['Europe/Berlin', 'UTC'])
})

test('a descriptor with more elements than any VM needs is refused before it is parsed', async () => {
  // A parser would complain about its end.
  const text = `<a>${'<b/>'.repeat(50_000)}`
  await assert.rejects(archived({ 'a.ovf': text, 'root.vmdk': disk }), isFault(/more than 10000 elements/))
})

test('bytes that are no tar archive, and one that is cut off, are refused', async () => {
  const reading = (bytes: Buffer) =>
    readArchive(
      (async function* () {
        yield bytes
      })(),
    )
  await assert.rejects(reading(Buffer.alloc(5000, 65)), isFault(/no tar archive/))
  await assert.rejects(reading(Buffer.alloc(10_240)), isFault(/no descriptor/))
  await assert.rejects(reading(Buffer.alloc(0)), isFault(/no tar archive/))
})
