import { run } from './groups.ts'

run('http')
