/** Runs Terraform with the unmodified public provider in a folder with the configuration. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { password, type Service } from './service.ts'

export interface Outcome {
  readonly exitCode: number
  readonly output: string
}

export interface Terraform {
  readonly folder: string
  /** Runs a command and returns its outcome, success or failure. */
  run(...argv: readonly string[]): Promise<Outcome>
  /** Runs a command. @throws Error with its output where it fails */
  succeed(...argv: readonly string[]): Promise<string>
  remove(): void
}

/** `TF_PROVIDER_DIR` names the folder of a provider; without it Terraform takes the provider from the registry. */
export async function openTerraform(service: Service): Promise<Terraform> {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-terraform-'))
  for (const name of readdirSync(import.meta.dirname).filter((each) => each.endsWith('.tf')))
    cpSync(join(import.meta.dirname, name), join(folder, name))
  const providers = process.env['TF_PROVIDER_DIR']
  const settings = join(folder, 'terraform.rc')
  const override = `dev_overrides { "nutanix/nutanix" = ${JSON.stringify(providers)} }`
  writeFileSync(settings, providers === undefined ? '' : `provider_installation {\n  ${override}\n  direct {}\n}\n`)
  mkdirSync(join(folder, 'home'))
  const env = {
    PATH: process.env['PATH'],
    HOME: join(folder, 'home'),
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: settings,
    TF_IN_AUTOMATION: '1',
    TF_LOG: process.env['TF_LOG'],
    TF_LOG_PATH: process.env['TF_LOG_PATH'],
    NUTANIX_ENDPOINT: '127.0.0.1',
    NUTANIX_PORT: service.port,
    NUTANIX_USERNAME: 'admin',
    NUTANIX_PASSWORD: password,
  }
  const run = async (...argv: readonly string[]): Promise<Outcome> => {
    const child = spawn('terraform', [...argv], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [exitCode] = await once(child, 'close')
    return { exitCode, output }
  }
  const succeed = async (...argv: readonly string[]): Promise<string> => {
    const { exitCode, output } = await run(...argv)
    if (exitCode !== 0) throw new Error(`terraform ${argv.join(' ')} ended with ${exitCode}:\n${output}`)
    return output
  }
  if (providers === undefined) await succeed('init', '-no-color')
  return { folder, run, succeed, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
