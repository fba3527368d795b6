import { run } from './groups.ts'

run('iam')
