/** The archive behind a URL that ends with `.ova`, as another hypervisor's export tool writes it. */
import { createHash } from 'node:crypto'
import { drawsFrom } from '../../../core/ids/draws.ts'
import { escapeXml } from '../../../core/xml.ts'
import type { TextFile } from '../../ova-files.ts'
import type { Content } from './bytes.ts'

const GiB = 1024 ** 3

interface ForeignOva {
  readonly name: string
  readonly disk: Content & { readonly name: string }
  readonly os: 'linux' | 'windows'
  /** The texts of the archive; they name the size and the digest of the disk's file. */
  readonly textsFor: (disk: { readonly sizeBytes: number; readonly sha256: string }) => readonly TextFile[]
}

export function foreignOva(url: string): ForeignOva | undefined {
  const path = url.replace(/[?#].*$/s, '')
  if (!/\.ova$/i.test(path)) return undefined
  const name = path.slice(path.lastIndexOf('/') + 1, -'.ova'.length).replaceAll(/[^\w.-]/g, '_') || 'appliance'
  const draw = drawsFrom(`ova/${url}`)
  const capacityGiB = 10 + Math.floor(draw() * 31)
  const [cpus, memoryMiB] = [1 + Math.floor(draw() * 4), 1024 * (1 + Math.floor(draw() * 4))]
  const diskName = `${name}-disk001.vmdk`
  return {
    name,
    disk: { name: diskName, seed: url, sizeBytes: capacityGiB * GiB },
    os: /windows|\bwin/i.test(url) ? 'windows' : 'linux',
    textsFor: ({ sizeBytes, sha256 }) => {
      const text = descriptor({ name, diskName, sizeBytes, capacityGiB, cpus, memoryMiB })
      const digest = createHash('sha256').update(text).digest('hex')
      return [
        { name: `${name}.ovf`, text },
        { name: `${name}.mf`, text: `SHA256(${name}.ovf)= ${digest}\nSHA256(${diskName})= ${sha256}\n` },
      ]
    },
  }
}

interface Described {
  readonly name: string
  readonly diskName: string
  readonly sizeBytes: number
  readonly capacityGiB: number
  readonly cpus: number
  readonly memoryMiB: number
}

const item = (fields: Readonly<Record<string, string | number>>): string =>
  `      <Item>
${Object.entries(fields)
  .map(([name, value]) => `        <rasd:${name}>${escapeXml(String(value))}</rasd:${name}>\n`)
  .join('')}      </Item>`

const descriptor = ({ name, diskName, sizeBytes, capacityGiB, cpus, memoryMiB }: Described): string =>
  `<?xml version="1.0"?>
<ovf:Envelope xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1" xmlns="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
  <References>
    <File ovf:href="${escapeXml(diskName)}" ovf:id="file1" ovf:size="${sizeBytes}"/>
  </References>
  <DiskSection>
    <Info>Disks of the appliance</Info>
    <Disk ovf:capacity="${capacityGiB}" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1" ovf:fileRef="file1"
      ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  </DiskSection>
  <NetworkSection>
    <Info>Networks of the appliance</Info>
    <Network ovf:name="nat"/>
  </NetworkSection>
  <VirtualSystem ovf:id="${escapeXml(name)}">
    <Info>An appliance</Info>
    <VirtualHardwareSection>
      <Info>Virtual hardware</Info>
${item({ ElementName: 'CPUs', InstanceID: 1, ResourceType: 3, VirtualQuantity: cpus })}
${item({ AllocationUnits: 'byte * 2^20', ElementName: 'Memory', InstanceID: 2, ResourceType: 4, VirtualQuantity: memoryMiB })}
${item({ Address: 0, ElementName: 'SCSI', InstanceID: 3, ResourceSubType: 'lsilogic', ResourceType: 6 })}
${item({ AddressOnParent: 0, ElementName: 'Disk', HostResource: '/disk/vmdisk1', InstanceID: 4, Parent: 3, ResourceType: 17 })}
${item({ Connection: 'nat', ElementName: 'Network', InstanceID: 5, ResourceType: 10 })}
    </VirtualHardwareSection>
  </VirtualSystem>
</ovf:Envelope>
`
